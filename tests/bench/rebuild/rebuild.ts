import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '../../../infra/dev-servers/provider.ts';
import { startStack } from '../../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../../infra/dev-servers/temporary-folder.ts';
import type { RebuildOptions } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { runBulkWrite } from '../projecting/bulk-write.ts';
import { countsFor, createDataset } from '../projecting/dataset.ts';
import { withEnvironment, type BenchEnvironment } from '../projecting/environment.ts';
import { runProjector } from '../projecting/projector.ts';
import { publishDataset, type Published } from '../projecting/publish.ts';
import { writeDocs } from './docs.ts';
import { withLiveSide } from './live-side.ts';
import { runBulkWriteBeside, runOneByOne, runRebuild } from './measure.ts';
import { rebuildRecords, type RebuildName } from './names.ts';
import { readDuring } from './reader.ts';
import type { Round } from './result.ts';
import { summarize } from './summary.ts';
import { renderResult } from './table.ts';

type Size = { records: number; warmMs: number; beforeMs: number; oneByOneMs: number };

const fullSize: Size = { records: rebuildRecords, warmMs: 4_000, beforeMs: 10_000, oneByOneMs: 8_000 };
const quickSize: Size = { records: 2_300, warmMs: 1_000, beforeMs: 2_000, oneByOneMs: 1_000 };

/** The generator's seed: every round has the same records. */
const seed = 1;
const organizations = 3;
/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

const report = (line: string) => void process.stderr.write(`${line}\n`);

/** Measures, prints the table on stdout and progress on stderr, and writes the requested files. */
export async function benchRebuild({
  quick,
  rounds,
  records,
  json,
  ...options
}: RebuildOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const { path: dataDir, release } = await temporaryFolder('support-read-models-bench-');
  const size = { ...(quick ? quickSize : fullSize), ...(records !== null && { records }) };
  let stack: Stack | undefined;
  try {
    stack = await startStack({ report, dataDir });
    const machine = await describeMachine(stack);
    const measured = await withEnvironment(stack, dataDir, async (environment) => {
      const all: Round[] = [];
      for (let round = 0; round < rounds; round += 1)
        all.push(await measureRound(environment, size, round, `round ${round + 1} of ${rounds}`));
      return all;
    });
    const result = summarize({ startedAt, quick, machine, rounds: measured });
    process.stdout.write(renderResult(result));
    if (json !== null) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
    if (options.writeDocs) await writeDocs(result);
  } finally {
    await stack?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await release();
  }
}

async function measureRound(
  environment: BenchEnvironment,
  size: Size,
  round: number,
  label: string,
): Promise<Round> {
  const counts = countsFor(size.records / rebuildRecords, organizations);
  const dataset = createDataset({ seed, organizations, counts });
  const published = await publishDataset(environment, dataset, `${environment.prefix}${round}.`);
  report(`${label}: published ${published.records} records`);
  const isReversed = round % 2 === 1;
  const measured = {
    ...(await inTurn(label, isReversed, {
      'bulk-write': () => runBulkWrite(environment, published),
      projector: () => runProjector(environment, published),
    })),
    ...(await measureBeside(environment, published, size, { label, isReversed })),
  };
  return measured;
}

const measureBeside = (
  environment: BenchEnvironment,
  published: Published,
  { warmMs, beforeMs, oneByOneMs }: Size,
  { label, isReversed }: { label: string; isReversed: boolean },
): Promise<Omit<Round, 'bulk-write' | 'projector'>> =>
  withLiveSide(environment, published, async (side) => {
    await readDuring(side.target, () => sleep(warmMs));
    const beside = await inTurn(label, isReversed, {
      'bulk-write-beside': () => runBulkWriteBeside(environment, side, beforeMs),
      rebuild: () => runRebuild(environment, side, beforeMs),
    });
    await side.stopTraffic();
    await sleep(pauseMs);
    return {
      ...beside,
      ...(await inTurn(label, false, { 'one-by-one': () => runOneByOne(environment, side, oneByOneMs) })),
    };
  });

/** Runs each, one after the other, and reports its rate. */
async function inTurn<T extends { [name in RebuildName]?: () => Promise<{ seconds: number }> }>(
  label: string,
  isReversed: boolean,
  runs: T,
): Promise<{ [name in keyof T]: T[name] extends () => Promise<infer R> ? R : never }> {
  const done: Record<string, { seconds: number }> = {};
  for (const [name, run] of isReversed ? Object.entries(runs).toReversed() : Object.entries(runs)) {
    report(`${label}: ${name}…`);
    const measured = (await run()) as { seconds: number; records?: number; events?: number };
    const rate = (measured.records ?? measured.events ?? 0) / measured.seconds;
    report(`${label}: ${name}, ${Math.round(rate)} records/s, ${measured.seconds.toFixed(1)} s`);
    done[name] = measured;
    await sleep(pauseMs);
  }
  return done as { [name in keyof T]: T[name] extends () => Promise<infer R> ? R : never };
}
