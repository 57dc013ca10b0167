/** What is wrong with the arguments, where only the store or the settings can tell: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
