import { MongoNetworkError } from 'mongodb';
import { pino } from 'pino';
import { snapshot } from '../../../tests/support/snapshot.ts';
import { createMetrics } from '../metrics.ts';
import type { AssignedPartitions } from '../partition/assigned-partitions.ts';
import { createPositions } from '../partition/positions.ts';
import { createRefusalLimit } from '../refusal-limit.ts';
import { type CommitLoopDeps, observedPartitions, startCommitLoop } from './commit-loop.ts';
import { createLiveness } from './liveness.ts';

const t0 = snapshot({ position: 3 });

type Standing = {
  position?: number | null;
  /** The end and the last stable offset of its partition; null if no broker leads it. */
  end?: number | null;
  stable?: number;
  loadEnds?: Record<string, number> | null;
  isQueued?: true;
};
const unstarted = { position: null };

describe('a process at offset 3 that stands still for longer than a stuck one may', () => {
  test.each<[string, Standing, boolean]>([
    ['stuck if records wait', {}, true],
    ['stuck if records wait before its load end', { loadEnds: { 't/0': 4 } }, true],
    ['alive at its load end, however many records have come since', { loadEnds: { 't/0': 3 } }, false],
    ['alive if the load has nothing of its partition', { loadEnds: {} }, false],
    ['stuck if records wait before an open transaction', { stable: 4 }, true],
    ['alive if it waits for the end of a transaction', { stable: 3 }, false],
    ['alive while its chunk waits for that of another partition', { isQueued: true }, false],
    ['alive if no broker leads its partition', { end: null }, false],
    ['alive if it finds no start offset because no broker leads it', { ...unstarted, end: null }, false],
    ['stuck if it finds no start offset otherwise', { ...unstarted, end: 0 }, true],
  ])('is %s', (_, standing, isStuck) => {
    const { position = 3, end = 9, stable = 9, loadEnds = null, ...queued } = standing;
    const positions = createPositions(() => 0);
    positions.setLoadEnds(loadEnds && new Map(Object.entries(loadEnds)));
    const log = { ends: new Map(end === null ? [] : [['t/0', { low: 0, end, stable }]]) };
    const liveness = createLiveness(0);
    for (const nowMs of [0, 400_000])
      liveness.observe(nowMs, observedPartitions(positions, log, [{ ...t0, ...queued, position }]));
    expect(liveness.failure(400_000)).toEqual(
      isStuck ? expect.stringContaining('has records, but has not moved') : null,
    );
  });
});

test.each([
  ['because MongoDB is away is an outage, in which the process is alive', new MongoNetworkError('reset'), 1],
  ['by a bug is none', new TypeError('a bug'), 0],
])('a run that fails %s', async (_, error, expected) => {
  let outages = 0;
  const liveness = {
    ...createLiveness(0),
    observeUnavailable: () => {
      outages += 1;
    },
  };
  const failed = Promise.withResolvers<void>();
  const deps = {
    clock: { read: () => Promise.reject(error) },
    nowMs: () => 0,
    logger: pino({}, { write: () => failed.resolve() }),
    metrics: createMetrics(),
    liveness,
    refusalLimit: createRefusalLimit(() => 0),
  };
  const consumer = {} as AssignedPartitions;
  const loop = startCommitLoop(deps as unknown as CommitLoopDeps, consumer);
  await failed.promise;
  await loop.stop();
  expect(outages).toBe(expected);
});
