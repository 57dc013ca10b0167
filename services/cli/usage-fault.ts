/** What is wrong with the words given, where that can be told only later: exit code 2. */
export class UsageFault extends Error {
  override name = 'UsageFault';
}
