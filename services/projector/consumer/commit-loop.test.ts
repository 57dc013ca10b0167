import { MongoNetworkError } from 'mongodb';
import { pino } from 'pino';
import { createLiveness } from '../liveness.ts';
import { createMetrics } from '../metrics.ts';
import { observedPartitions, startCommitLoop } from './commit-loop.ts';
import type { RunningConsumer } from './consumer.ts';
import { createPositions } from './positions.ts';

const t0 = { topic: 't', partition: 0, position: 3, progressCount: 0 };

/** The failure of a process that stands still for longer than a stuck one may; null if it is alive. */
function afterStandingStill({
  snapshot = [t0],
  ends = {},
  stable = 9,
  loadEnds = null,
  withoutStartOffset = [],
}: {
  snapshot?: (typeof t0)[];
  ends?: Record<string, number>;
  /** The last stable offset of each partition. */
  stable?: number;
  loadEnds?: Record<string, number> | null;
  withoutStartOffset?: string[];
}): string | null {
  const positions = createPositions(() => 0);
  positions.load(loadEnds && new Map(Object.entries(loadEnds)));
  const log = { ends: new Map(Object.entries(ends).map(([key, end]) => [key, { low: 0, end, stable }])) };
  const consumer = { withoutStartOffset: () => withoutStartOffset };
  const liveness = createLiveness(0);
  for (const nowMs of [0, 400_000])
    liveness.observe(nowMs, observedPartitions(consumer, positions, log, snapshot));
  return liveness.failure(400_000);
}

describe('a process that stands still for longer than a stuck one may', () => {
  const stuck = /has records, but has not moved/;

  it('is stuck if records wait in its partition', () => {
    expect(afterStandingStill({ ends: { 't/0': 9 } })).toMatch(stuck);
  });

  it('is alive if its partition waits at its load end, however many records have come since', () => {
    expect(afterStandingStill({ ends: { 't/0': 9 }, loadEnds: { 't/0': 3 } })).toBeNull();
    expect(afterStandingStill({ ends: { 't/0': 9 }, loadEnds: {} })).toBeNull();
    expect(afterStandingStill({ ends: { 't/0': 9 }, loadEnds: { 't/0': 4 } })).toMatch(stuck);
  });

  it('is alive if it waits for the end of a transaction, and stuck before that', () => {
    expect(afterStandingStill({ ends: { 't/0': 9 }, stable: 3 })).toBeNull();
    expect(afterStandingStill({ ends: { 't/0': 9 }, stable: 4 })).toMatch(stuck);
  });

  it('is alive if no broker leads its partition, with or without a start offset', () => {
    expect(afterStandingStill({})).toBeNull();
    expect(afterStandingStill({ snapshot: [], withoutStartOffset: ['t/0'] })).toBeNull();
    const led = { snapshot: [], withoutStartOffset: ['t/0'], ends: { 't/0': 0 } };
    expect(afterStandingStill(led)).toMatch(stuck);
  });
});

it.each([
  ['because MongoDB is away is an outage, in which the process is alive', new MongoNetworkError('reset'), 1],
  ['by a bug is none', new TypeError('a bug'), 0],
])('a run that fails %s', async (_, error, expected) => {
  let outages = 0;
  const liveness = { ...createLiveness(0), observeUnavailable: () => void (outages += 1) };
  const failed = Promise.withResolvers<void>();
  const deps = {
    clock: { read: () => Promise.reject(error) },
    nowMs: () => 0,
    logger: pino({}, { write: () => failed.resolve() }),
    metrics: createMetrics(),
    liveness,
  };
  const consumer = { onApplied: () => undefined } as unknown as RunningConsumer;
  const loop = startCommitLoop(deps as unknown as Parameters<typeof startCommitLoop>[0], consumer);
  await failed.promise;
  await loop.stop();
  expect(outages).toBe(expected);
});
