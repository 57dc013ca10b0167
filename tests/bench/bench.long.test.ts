import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScript } from '../support/service.ts';
import type { Projecting } from './projecting/projecting.ts';
import type { Rebuild } from './rebuild/rebuild.ts';
import type { Report } from './report.ts';
import type { ServingResult } from './serving/result.ts';

/** Runs a benchmark; gives the content of its file, and its table. */
async function run<T>(words: string[]): Promise<{ report: T; table: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
  const file = join(folder, 'figures.json');
  const bench = startScript('tests/bench/main.ts', process.env, [...words, '--quick', '--json', file]);
  expect([await bench.exited, bench.stderr()]).toEqual([0, expect.any(String)]);
  const report = JSON.parse(await readFile(file, 'utf8')) as T;
  await rm(folder, { recursive: true });
  return { report, table: bench.stdout() };
}

/** Times are not looked at: only that everything is measured, on all of the records. */
test('npm run bench -- --quick measures every contender, and counts its documents', async () => {
  const { report, table } = await run<Report<Projecting>>([]);
  const { entities, backlog, live, leftOut } = report.measured;
  expect(entities).toBeGreaterThan(1_000);
  for (const [name, runs] of Object.entries(backlog)) {
    // Only the connector may be left out, with a reason.
    const isLeftOut = name === 'connector' && leftOut;
    expect([name, runs.map(({ documents }) => documents)]).toEqual([name, isLeftOut ? [] : [entities]]);
    for (const { seconds, processorSeconds, peakMegabytes } of runs)
      expect([seconds, processorSeconds, peakMegabytes].every((figure) => figure > 0)).toBe(true);
    expect(table).toContain(isLeftOut ? leftOut : `| \`${name}\``);
  }
  expect(live.flatMap(({ rates }) => rates.map(({ eventsPerSecond }) => eventsPerSecond))).toEqual([
    ...[300, 1_000, 3_000],
  ]);
  for (const { latenciesMs, unseen } of live.flatMap(({ rates }) => rates))
    expect([latenciesMs.length > 0, unseen]).toEqual([true, 0]);
  expectGoals(report, table, 6);
}, 300_000);

test('npm run bench -- rebuild --quick builds documents that equal those that are served', async () => {
  const { report, table } = await run<Report<Rebuild>>(['rebuild']);
  const { measured } = report;
  for (const [name, runs] of Object.entries(measured)) expect([name, runs.length]).toEqual([name, 1]);
  const [[build], [alone]] = [measured.rebuild, measured.projector];
  // With the live changes of before the end there are more of them.
  expect(build?.documents).toBeGreaterThanOrEqual(alone?.documents ?? Infinity);
  expect(build?.verified).toBeGreaterThan(1_000);
  expect(build?.duringMs?.length).toBeGreaterThan(0);
  expectGoals(report, table, 4);
}, 300_000);

function expectGoals(report: Report, table: string, count: number): void {
  expect(report.goals).toHaveLength(count);
  for (const { goal } of report.goals) expect(table).toContain(goal);
  expect(table).toContain(`Node ${process.versions.node}`);
}

describe('npm run bench -- serving --quick', () => {
  const names = ['bare', 'fastify', 'api', 'api-http2'];
  let result: ServingResult;

  beforeAll(async () => {
    ({ report: result } = await run<ServingResult>(['serving', '--only', ...names]));
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
});
