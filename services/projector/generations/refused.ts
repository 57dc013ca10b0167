/** An operation on generations is not possible now. The message says why, and what to do. */
export class RebuildRefused extends Error {
  override name = 'RebuildRefused';
}
