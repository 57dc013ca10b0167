import { basename, relative } from 'node:path';

const slowestMax = 10;

/**
 * Prints the slowest files, and sends the counts and the skipped tests to tests/run.ts, which sums them up. A suite
 * that could not run counts as a failure.
 */
export default class RunReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    process.send?.({
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      skipped: skippedTitles(testResults),
    });
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

/** The tests that their titles call skipped, once for each `describe` that is skipped as a whole. */
function skippedTitles(results) {
  const titles = new Set();
  for (const { testFilePath, testResults } of results)
    for (const { status, ancestorTitles, title } of testResults) {
      if (status !== 'pending') continue;
      const path = [...ancestorTitles, title];
      const end = path.findIndex((part) => part.includes(' (skipped: ')) + 1;
      // Others are left out by an option of jest.
      if (end > 0) titles.add(`${basename(testFilePath)}: ${path.slice(0, end).join(' › ')}`);
    }
  return [...titles];
}
