/** A usage error that only the settings or the environment reveal. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
