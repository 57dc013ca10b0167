/**
 * `describe` or `test` if this machine has the programs that the tests need. If `missing` names something, such as
 * "no mongod", jest skips them, and tests/reporter.mjs lists them at the end of the run with this reason.
 */
export function describeUnless(missing: string | null, title: string, body: () => void): void {
  if (missing === null) describe(title, body);
  else describe.skip(skippedTitle(title, missing), body);
}

export function testUnless(missing: string | null, title: string, body: () => Promise<void>): void {
  if (missing === null) test(title, body);
  else test.skip(skippedTitle(title, missing), body);
}

const skippedTitle = (title: string, missing: string) => `${title} (skipped: ${missing})`;
