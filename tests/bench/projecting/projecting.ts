import { rm, writeFile } from 'node:fs/promises';
import type { Stack } from '../../../infra/dev-servers/provider.ts';
import { startStack } from '../../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../../infra/dev-servers/temporary-folder.ts';
import type { ProjectingOptions } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { writeDocs } from './docs.ts';
import { withEnvironment } from './environment.ts';
import { measureRounds } from './rounds.ts';
import { summarize } from './summary.ts';
import { renderResult } from './table.ts';

const report = (line: string) => void process.stderr.write(`${line}\n`);

/** Measures, prints the table on stdout and progress on stderr, and writes the requested files. */
export async function benchProjecting(options: ProjectingOptions): Promise<void> {
  const { quick, rounds, json } = options;
  const startedAt = new Date().toISOString();
  const { path: dataDir, release } = await temporaryFolder('support-read-models-bench-');
  let stack: Stack | undefined;
  try {
    stack = await startStack({ report, dataDir });
    const machine = await describeMachine(stack);
    const measured = await withEnvironment(stack, dataDir, (environment) =>
      measureRounds({ environment, report }, options),
    );
    const result = summarize({ startedAt, quick, rounds, machine, ...measured });
    process.stdout.write(renderResult(result));
    if (json !== null) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
    if (options.writeDocs) await writeDocs(result);
  } finally {
    await stack?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await release();
  }
}
