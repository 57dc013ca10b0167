import { relative } from 'node:path';

const slowestMax = 10;

/**
 * Prints the slowest files, and sends the counts to tests/run.ts, which sums them up. A suite that could not run counts
 * as a failure.
 */
export default class RunReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    process.send?.({ passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites });
    if (testResults.length <= slowestMax) return;
    const slowest = testResults
      .toSorted((one, other) => other.perfStats.runtime - one.perfStats.runtime)
      .slice(0, slowestMax)
      .map(({ testFilePath, perfStats }) => {
        const seconds = (perfStats.runtime / 1_000).toFixed(1).padStart(7);
        return `${seconds} s  ${relative(this.rootDir, testFilePath)}`;
      });
    // At exit, since jest's own summary comes after every reporter.
    process.once('exit', () => process.stdout.write(`\nThe slowest files:\n${slowest.join('\n')}\n`));
  }
}
