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
      .toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime)
      .slice(0, slowestMax)
      .map(({ testFilePath, perfStats }) => {
        const seconds = (perfStats.runtime / 1_000).toFixed(1).padStart(7);
        return `${seconds} s  ${relative(this.rootDir, testFilePath)}`;
      });
    // Jest prints its own summary after every reporter, so the slowest files come last only at exit.
    process.once('exit', () => process.stdout.write(`\nThe slowest files:\n${slowest.join('\n')}\n`));
  }
}

/** The titles that name a reason for their skip. A `describe` that is skipped as a whole counts once. */
function skippedTitles(results) {
  const titles = new Set();
  for (const { testFilePath, testResults } of results) {
    for (const { status, ancestorTitles, title } of testResults) {
      if (status !== 'pending') continue;
      const path = [...ancestorTitles, title];
      const end = path.findIndex((part) => part.includes(' (skipped: ')) + 1;
      // A pending test without a reason was left out by an option of jest.
      if (end > 0) titles.add(`${basename(testFilePath)}: ${path.slice(0, end).join(' › ')}`);
    }
  }
  return [...titles];
}
