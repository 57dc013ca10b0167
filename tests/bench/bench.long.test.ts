import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScript } from '../../infra/service.ts';
import type { Projecting } from './projecting/projecting.ts';
import type { Rebuild } from './rebuild/rebuild.ts';
import type { Report } from './report.ts';
import type { Serving } from './serving/serving.ts';

/** Runs the program to its end; returns the text that it prints. */
async function output(...words: string[]): Promise<string> {
  const bench = startScript('tests/bench/main.ts', process.env, words);
  expect([await bench.exited, bench.stderr()]).toEqual([0, expect.any(String)]);
  return bench.stdout();
}

/** Runs a benchmark; returns the content of its file, and its table. The goals must stand below the table. */
async function run<Measured>(words: string[], goals: number): Promise<{ measured: Measured; table: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
  const file = join(folder, 'figures.json');
  const table = await output(...words, '--quick', '--json', file);
  const report = JSON.parse(await readFile(file, 'utf8')) as Report<Measured>;
  await rm(folder, { recursive: true });
  expect(report.goals).toHaveLength(goals);
  for (const { goal } of report.goals) expect(table).toContain(goal);
  expect(table).toContain(`Node ${process.versions.node}`);
  return { measured: report.measured, table };
}

/** No test depends on times: only that everything is measured, on all of the records. */
test('npm run bench -- --quick measures every contender, and counts its documents', async () => {
  const { measured, table } = await run<Projecting>([], 6);
  const { entities, backlog, live, leftOut } = measured;
  expect(entities).toBeGreaterThan(1_000);
  // Only the connector may be left out, with a reason.
  const names = ['bulk-write', ...(leftOut === null ? ['connector'] : []), 'projector'];
  expect(backlog.map(({ contender, documents }) => [contender, documents])).toEqual(
    names.map((name) => [name, entities]),
  );
  for (const name of names) expect(table).toContain(`| \`${name}\``);
  expect(table).toContain(leftOut ?? 'MongoDB Kafka sink connector');
  for (const { seconds, processorSeconds, peakMegabytes } of backlog)
    expect([seconds, processorSeconds, peakMegabytes].every((figure) => figure > 0)).toBe(true);
  expect(live.flatMap(({ rates }) => rates.map(({ eventsPerSecond }) => eventsPerSecond))).toEqual([
    ...[300, 1_000, 3_000],
  ]);
  for (const { latenciesMs, unseen } of live.flatMap(({ rates }) => rates))
    expect([latenciesMs.length > 0, unseen]).toEqual([true, 0]);
}, 300_000);

test('npm run bench -- rebuild --quick builds documents that equal those that are served', async () => {
  const { measured } = await run<Rebuild>(['rebuild'], 3);
  expect(measured.map(({ contender }) => contender)).toEqual([
    ...['bulk-write', 'projector', 'bulk-write-beside', 'rebuild'],
  ]);
  const [, alone, , rebuild] = measured;
  // The live changes of before its end are new documents too.
  expect(rebuild?.documents).toBeGreaterThanOrEqual(alone?.documents ?? Infinity);
  expect(rebuild?.build?.verified).toBeGreaterThan(1_000);
  expect(rebuild?.duringMs?.length).toBeGreaterThan(0);
}, 300_000);

test('npm run bench -- sizes --quick measures the documents of every kind', async () => {
  const { measured } = await run<{ documents: number; bytes: number[] }[]>(['sizes'], 0);
  expect(measured).toHaveLength(11);
  for (const { documents, bytes } of measured)
    expect([documents > 0, bytes.length, Math.min(...bytes) > 100]).toEqual([true, documents, true]);
}, 300_000);

test('npm run bench -- serving --quick measures every contender at every endpoint, places and threads', async () => {
  const { measured, table } = await run<Serving>(['serving'], 8);
  const contenders = ['bare', 'fastify', 'api'];
  const endpoints = [
    'a list of 20 tickets',
    'a ticket',
    'a conversation of 5 messages',
    'a page of 20 messages',
  ];
  expect(measured.slices.map(({ contender, endpoint }) => [contender, endpoint])).toEqual(
    contenders.flatMap((contender) => endpoints.map((endpoint) => [contender, endpoint])),
  );
  for (const { requestsPerSecond, processorMs, p50Ms, p99Ms } of measured.slices)
    for (const figure of [requestsPerSecond, processorMs, p50Ms, p99Ms]) expect(figure).toBeGreaterThan(0);
  expect(measured.peaks.map(({ contender }) => contender)).toEqual(contenders);
  const places = ['start', 'middle', 'end'].map((place) => expect.stringContaining(place) as string);
  const threads = ['100', '1,000'].map((size) => `a conversation of ${size} messages`);
  expect(measured.alone.map(({ request }) => request)).toEqual([...places, ...threads]);
  for (const { ms } of measured.alone) expect(ms).toBeGreaterThan(0);
  for (const heading of endpoints) expect(table).toContain(`| ${heading}`);
}, 300_000);

test('npm run bench -- memory applies every record beside a slow store', async () => {
  const text = await output('memory', '--records', '1000', '--delay', '20');
  expect(text).toMatch(/^1000 records, 132 partitions, gzip, a store that answers 20 ms late: \d+ MB/);
}, 300_000);
