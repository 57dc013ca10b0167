/**
 * `describe` or `test` where this machine has the programs that the tests need. Where `missing` names something, such
 * as "no mongod", they are skipped: tests/reporter.mjs lists them at the end of the run, by the reason in their title.
 */
export const describeUnless = (missing: string | null, title: string, body: () => void): void =>
  missing === null ? describe(title, body) : describe.skip(skippedTitle(title, missing), body);

export const testUnless = (missing: string | null, title: string, body: () => Promise<void>): void =>
  missing === null ? test(title, body) : test.skip(skippedTitle(title, missing), body);

const skippedTitle = (title: string, missing: string) => `${title} (skipped: ${missing})`;
