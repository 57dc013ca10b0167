/**
 * Closes a run with one line that tools read: `N passed, N failed`. A suite that could not run counts as a
 * failure. Printed at exit, since jest's own summary comes after every reporter.
 */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    process.once('exit', () =>
      process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed\n`),
    );
  }
}
