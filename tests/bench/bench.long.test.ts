import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScript } from '../support/service.ts';
import { contenderNames } from './projecting/contender-names.ts';
import type { ProjectingResult } from './projecting/result.ts';
import { rebuildNames } from './rebuild/names.ts';
import type { RebuildResult } from './rebuild/result.ts';
import type { ServingResult } from './serving/result.ts';

/** Runs a benchmark; gives what it wrote to its file, and its table. */
async function run<T>(words: string[]): Promise<{ result: T; table: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
  const file = join(folder, 'figures.json');
  const bench = startScript('tests/bench/main.ts', process.env, [...words, '--quick', '--json', file]);
  expect([await bench.exited, bench.stderr()]).toEqual([0, expect.any(String)]);
  const result = JSON.parse(await readFile(file, 'utf8')) as T;
  await rm(folder, { recursive: true });
  return { result, table: bench.stdout() };
}

/** Times are not looked at: only that everything is measured, on all of the records. */
describe('npm run bench -- --quick', () => {
  let result: ProjectingResult;
  let table: string;

  beforeAll(async () => {
    ({ result, table } = await run<ProjectingResult>([]));
  }, 300_000);

  it('measures every contender once, or says why it left one out', () => {
    const measured = result.contenders.map(({ name }) => name);
    const leftOut = result.leftOut.map(({ name }) => name);
    expect([...measured, ...leftOut, ...(result.live ? ['live'] : [])].toSorted()).toEqual(
      contenderNames.toSorted(),
    );
    expect(leftOut.filter((name) => name !== 'connector')).toEqual([]);
    for (const { reason } of result.leftOut) expect(reason).not.toBe('');
    for (const { runs } of result.contenders) expect(runs).toHaveLength(1);
  });

  it('leaves as many documents as entities were published, whoever carried them', () => {
    for (const { name, entities, runs } of result.contenders) {
      expect({ name, documents: runs.map(({ documents }) => documents) }).toEqual({
        name,
        documents: [entities],
      });
      expect(entities).toBeGreaterThan(1_000);
    }
  });

  it('has a figure for every cost of every contender, and for every rate of events', () => {
    for (const { recordsPerSecond, processorSecondsPerMillion, peakMegabytes } of result.contenders) {
      for (const spread of [recordsPerSecond, processorSecondsPerMillion, peakMegabytes]) {
        expect(Object.values(spread ?? {}).filter(Number.isFinite)).toHaveLength(3);
      }
    }
    expect(result.live?.rates.map(({ eventsPerSecond }) => eventsPerSecond)).toEqual([300, 1_000, 3_000]);
    for (const { samples, unseen } of result.live?.rates ?? []) {
      expect(samples).toBeGreaterThan(0);
      expect(unseen).toBe(0);
    }
    expect(result.live?.idlePercent).not.toBeNull();
  });

  it('prints a row for every contender, rate and goal, and what it ran on', () => {
    for (const { name, title } of result.contenders) {
      expect(table).toContain(`| \`${name}\``);
      expect(table).toContain(title);
    }
    for (const { goal } of result.goals) expect(table).toContain(goal);
    expect(result.goals).toHaveLength(6);
    expect(table).toContain(`Node ${process.versions.node}`);
    expect(result.machine.cores).toBeGreaterThan(0);
  });
});

describe('npm run bench -- rebuild --quick', () => {
  let result: RebuildResult;
  let table: string;

  beforeAll(async () => {
    ({ result, table } = await run<RebuildResult>(['rebuild']));
  }, 300_000);

  it('measures everything once, and rebuilds documents that equal those that are served', () => {
    expect(result.rows.map(({ name }) => name)).toEqual(rebuildNames);
    expect(result.rounds).toHaveLength(1);
    for (const { recordsPerSecond } of result.rows) expect(recordsPerSecond?.median).toBeGreaterThan(0);
    const [round] = result.rounds;
    // With the live changes of before the end there are more of them.
    expect(round?.rebuild.documents).toBeGreaterThanOrEqual(round?.projector.documents ?? Infinity);
    expect(round?.rebuild.verified).toBeGreaterThan(1_000);
    expect(round?.rebuild.duringMs.length).toBeGreaterThan(0);
    expect(round?.rebuild.peakMegabytes).toBeGreaterThan(0);
  });

  it('prints a row for each measurement and goal, and what it ran on', () => {
    for (const name of rebuildNames) expect(table).toContain(`| \`${name}\``);
    for (const { goal } of result.goals) expect(table).toContain(goal);
    expect(result.goals).toHaveLength(4);
    expect(table).toContain(`Node ${process.versions.node}`);
  });
});

describe('npm run bench -- serving --quick', () => {
  const names = ['bare', 'fastify', 'naive-koa', 'api', 'api-http2'];
  let result: ServingResult;
  let table: string;

  beforeAll(async () => {
    ({ result, table } = await run<ServingResult>(['serving', '--only', names.join()]));
  }, 300_000);

  it('measures every contender at every endpoint', () => {
    expect(result.contenders.map(({ name }) => name)).toEqual(names);
    for (const { endpoints, peakMegabytes } of result.contenders) {
      expect(endpoints.map(({ endpoint }) => endpoint)).toEqual([
        'tickets',
        'ticket',
        'conversation',
        'messages',
      ]);
      for (const { requestsPerSecond, processorMs, p99Ms, ofBare } of endpoints)
        for (const spread of [requestsPerSecond, processorMs, p99Ms, ofBare, peakMegabytes])
          expect(Object.values(spread ?? {}).filter(Number.isFinite)).toHaveLength(3);
    }
  });

  it('measures pages at three places of the list, and threads', () => {
    expect(result.places.map(({ place }) => place)).toEqual(['start', 'middle', 'end']);
    for (const { p50Ms } of result.places) expect(p50Ms?.median).toBeGreaterThan(0);
    expect(result.threads.map(({ messages }) => messages)).toEqual([100, 1_000]);
  });

  it('prints a row for every contender and goal, and what it ran on', () => {
    for (const name of names) expect(table).toContain(`| \`${name}\``);
    for (const { goal } of result.goals) expect(table).toContain(goal);
    expect(result.goals).toHaveLength(9);
    expect(table).toContain(`Node ${process.versions.node}`);
  });
});
