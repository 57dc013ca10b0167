import { pino } from 'pino';
import { KafkaJSNonRetriableError, type EachBatchPayload, type TopicPartitions } from 'kafkajs';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { createAssignment, type AssignmentDeps } from './assignment.ts';
import { handleBatch } from './handle-batch.ts';
import type { PartitionWorker } from './partition-worker.ts';
import { createPositions } from './positions.ts';
import { takeSnapshot } from './progress.ts';

const megabyte = 1024 * 1024;
const nothing = { events: 0, rejected: [], times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));

/** An assignment, the offsets that it applies, the partitions that kafkajs does not fetch, and the offsets sought. */
function given(apply: AssignmentDeps['apply'] = async () => nothing) {
  const positions = createPositions(() => 0);
  const paused = new Set<string>();
  const [applied, seeks, resolved]: [number[], string[], string[]] = [[], [], []];
  let refusal: Error | null = null;
  const logged: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const keys = (some: TopicPartitions[]) =>
    some.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => partitionKey({ topic, partition })),
    );
  const change = (some: unknown, by: (key: string) => void) => {
    if (refusal) throw refusal;
    keys(some as TopicPartitions[]).forEach(by);
  };
  const consumer = {
    pause: (some: unknown) => change(some, (key) => paused.add(key)),
    resume: (some: unknown) => change(some, (key) => paused.delete(key)),
    seek: ({ offset }: { offset: string }) => void seeks.push(offset),
  };
  const assignment = createAssignment(
    {
      queuedBytesMax: 16 * megabyte,
      apply: (topic, records, context) => {
        applied.push(...records.map(({ position }) => position.offset));
        return apply(topic, records, context);
      },
      positions,
      prerequisitesOf: () => [],
      onApplied: () => undefined,
      logger,
    },
    consumer,
  );
  let members = 0;
  /** The only worker of a new assignment of partition 0 of the topic; by default, the process is a new member. */
  const assign = (member = `member ${(members += 1)}`): PartitionWorker => {
    const [worker] = assignment.replace({ t: [0] }, member);
    if (!worker) throw new Error('nothing is assigned');
    return worker;
  };
  const start = (worker: PartitionWorker) => {
    worker.start(0);
    assignment.updateFetching(worker);
  };
  /** Queues one record, at the offset that the worker needs next. */
  const fetched = (worker: PartitionWorker, bytes = 1) => {
    const offset = worker.nextFetchOffset ?? 0;
    const records = [{ offset, value: Buffer.alloc(bytes) }];
    worker.nextFetchOffset = offset + 1;
    worker.push([rawBatch({ baseOffset: offset, lastOffset: offset, records })], offset + 1);
    assignment.updateFetching(worker);
  };
  let fetchedRecords = 0;
  const onFetched = (_: string, records: number) => void (fetchedRecords += records);
  const deliverMessages = (from: number, messages: object[], to: number, isStale = false) => {
    const batch = { topic: 't', partition: 0, fetchedOffset: `${from}`, messages, lastOffset: () => `${to}` };
    const payload = {
      batch,
      isStale: () => isStale,
      isRunning: () => true,
      resolveOffset: (offset: string) => void resolved.push(offset),
    };
    handleBatch({ logger, onFetched }, consumer, assignment, payload as unknown as EachBatchPayload);
  };
  /** Delivers one batch for each record that was fetched from `from`, holds these offsets, and ends at `to`. */
  const deliver = (from: number, offsets: number[], to: number, isStale = false) => {
    const messages = offsets.map((offset) => ({
      offset: `${offset}`,
      batch: rawBatch({ baseOffset: offset, lastOffset: offset, records: [{ offset }] }),
    }));
    deliverMessages(from, messages, to, isStale);
  };
  return {
    assignment,
    positions,
    paused,
    applied,
    seeks,
    resolved,
    assign,
    start,
    fetched,
    deliver,
    /** Delivers the error of a broker that cannot read the partition at an offset. */
    deliverError: (at: number, error: string) => deliverMessages(at, [{ offset: `${at}`, error }], at),
    logged,
    fetchedRecords: () => fetchedRecords,
    /** From now on `pause` and `resume` throw. */
    refuse: (error: Error | null) => (refusal = error),
  };
}

describe('a fetched batch', () => {
  it.each<[string, number | null, Parameters<ReturnType<typeof given>['deliver']>, object]>([
    ['is dropped before its partition has a start offset', null, [0, [0, 1], 1], { position: null }],
    [
      'is applied if it was fetched from the next offset',
      5,
      [5, [5, 7], 8],
      { applied: [5, 7], resolved: ['8'], position: 9 },
    ],
    [
      'advances the position even if it holds control records alone',
      5,
      [5, [], 6],
      { resolved: ['6'], position: 7 },
    ],
    ['is dropped if a seek has happened since', 5, [5, [5], 5, true], { position: 5 }],
  ])('%s', async (_, startOffset, batch, expected) => {
    const { assign, applied, seeks, resolved, deliver, fetchedRecords } = given();
    const worker = assign();
    if (startOffset !== null) worker.start(startOffset);
    deliver(...batch);
    await idle();
    const nothingHappens = { applied: [], seeks: [], resolved: [] };
    expect({ applied, seeks, resolved, position: worker.position }).toEqual({
      ...nothingHappens,
      ...expected,
    });
    expect(fetchedRecords()).toBe(applied.length);
  });

  it.each([
    ['before', 0, [0, 1], 1],
    ['after', 9, [9], 9],
    ['after, with control records only,', 9, [], 9],
  ])(
    'fetched from %s the next offset is not applied, and the next offset is fetched again',
    async (_, from, offsets, to) => {
      const { assignment, assign, applied, seeks, resolved, deliver } = given();
      const worker = assign();
      worker.start(5);
      assignment.committedOffsets.set('t/0', 5);
      deliver(from, offsets, to);
      await idle();
      expect({ applied, seeks, resolved, position: worker.position }).toEqual({
        applied: [],
        seeks: ['5'],
        resolved: [],
        position: 5,
      });
      // and the offset is committed again, since kafkajs may have committed another
      expect(assignment.committedOffsets.has('t/0')).toBe(false);
    },
  );

  it('is applied up to the end of the load only, and the rest is fetched after the load', async () => {
    const { positions, assign, start, paused, applied, resolved, deliver } = given();
    positions.load(new Map([['t/0', 2]]));
    const worker = assign();
    start(worker);
    expect([...paused]).toEqual([]);
    deliver(0, [0, 1, 4, 5], 6);
    const position = () => worker.position;
    while (position() !== 4) await idle();
    expect({ applied, resolved, paused: [...paused] }).toEqual({
      applied: [0, 1],
      resolved: ['3'],
      paused: ['t/0'],
    });
    // The fetch in progress may bring a batch that begins before the next offset, which does not move back.
    positions.load(new Map([['t/0', 3]]));
    deliver(4, [3], 3);
    expect(worker.nextFetchOffset).toBe(4);
    positions.load(null);
    expect([...paused]).toEqual([]);
    deliver(4, [4, 5], 6);
    while (position() !== 7) await idle();
    expect(applied).toEqual([0, 1, 4, 5]);
  });
});

describe('a partition that its broker cannot read', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('is fetched again from the same offset once a second, names the cause, and is logged once', () => {
    const { assignment, assign, start, paused, logged, resolved, seeks, deliver, deliverError } = given();
    const worker = assign();
    start(worker);
    const cause = () => takeSnapshot(assignment.workers())[0]?.cause;
    const counts: number[] = [];
    for (let fetch = 0; fetch < 3; fetch += 1) {
      expect([...paused]).toEqual([]);
      deliverError(0, 'KAFKA_STORAGE_ERROR');
      counts.push(worker.progressCount);
      expect([[...paused], cause()]).toEqual([['t/0'], 'unreadable']);
      jest.advanceTimersByTime(1_000);
    }
    expect({ next: worker.nextFetchOffset, resolved, seeks }).toEqual({ next: 0, resolved: [], seeks: [] });
    // and its projector is alive, since a restart would not help
    expect(counts).toEqual([1, 2, 3]);
    deliverError(0, 'CORRUPT_MESSAGE');
    expect(logged).toEqual([
      expect.stringContaining('KAFKA_STORAGE_ERROR'),
      expect.stringContaining('CORRUPT_MESSAGE'),
    ]);
    deliver(0, [0], 0);
    expect(cause()).toBe('backlog');
  });

  it('stays paused if it is assigned again meanwhile, or its projector stops', async () => {
    const { assignment, assign, start, paused, deliverError } = given();
    start(assign());
    deliverError(0, 'UNKNOWN');
    const next = assign();
    jest.advanceTimersByTime(1_000);
    expect([...paused]).toEqual(['t/0']);
    start(next);
    deliverError(0, 'UNKNOWN');
    await assignment.stop(0);
    jest.advanceTimersByTime(1_000);
    expect([...paused]).toEqual(['t/0']);
  });
});

it('once it stops, no partition is fetched, while a batch ends and after that', async () => {
  const batch = Promise.withResolvers<typeof nothing>();
  const { assignment, paused, applied, start, fetched } = given(() => batch.promise);
  const workers = assignment.replace({ t: [0, 1] }, 'member');
  workers.forEach(start);
  expect([...paused]).toEqual([]);
  for (const worker of workers.slice(0, 1)) fetched(worker);
  while (applied.length === 0) await idle();
  const stopped = assignment.stop(3_600_000);
  expect(paused.size).toBe(2);
  batch.resolve(nothing);
  await stopped;
  expect([workers[0]?.position, paused.size]).toEqual([1, 2]);
});

it('stuck partitions do not keep another partition from being resumed', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const { assignment, paused, start, fetched } = given((topic) =>
    topic === 'stuck' ? stuck.promise : Promise.resolve(nothing),
  );
  const partitions = { stuck: Array.from({ length: 31 }, (_, index) => index), free: [0] };
  const workers = assignment.replace(partitions, 'member');
  workers.forEach(start);
  expect(paused.size).toBe(0);
  // when all of them are fetched until they pause
  for (const worker of workers) for (let count = 0; count < 2; count += 1) fetched(worker, megabyte);
  expect(paused.size).toBe(32);
  while (paused.has('free/0')) await idle();
  expect(paused.size).toBe(31);
  stuck.resolve(nothing);
  await Promise.all(workers.map((worker) => worker.stop(0)));
});

describe('while kafkajs restarts its consumer, and throws at `pause` and `resume`', () => {
  const restarting = () =>
    new KafkaJSNonRetriableError('Consumer group was not initialized, consumer#run must be called first');

  it('a queue that empties is applied further, and its partition is fetched after the next assignment', async () => {
    const stuck = Promise.withResolvers<typeof nothing>();
    const { assignment, positions, paused, applied, refuse, assign, start, fetched } = given(
      () => stuck.promise,
    );
    const worker = assign();
    start(worker);
    // given a partition that is paused, because its queue holds more than its share
    for (let count = 0; count < 3; count += 1) fetched(worker, megabyte);
    expect([...paused]).toEqual(['t/0']);
    refuse(restarting());
    stuck.resolve(nothing);
    while (applied.length < 3) await idle();
    await idle();
    expect(positions.isApplied('t/0', 2)).toBe(true);
    // then it is fetched once the consumer is back in its group
    refuse(null);
    start(assign());
    expect([...paused]).toEqual([]);
    assignment.updateFetching(worker);
  });

  it('another error is not ignored', () => {
    const { positions, assign, start, refuse } = given();
    positions.load(new Map());
    start(assign());
    refuse(new TypeError('a bug'));
    expect(() => positions.load(null)).toThrow('a bug');
  });
});

it('a partition that is assigned again is not fetched before its start offset is known', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const { assignment, assign, applied, paused, start, fetched } = given(() => stuck.promise);
  // given a worker that applies a batch while its partition is assigned again
  const first = assign();
  start(first);
  fetched(first);
  while (applied.length === 0) await idle();
  const second = assign();
  // when it ends, then it does not resume a partition that is still without a start offset
  stuck.resolve(nothing);
  await first.stop(0);
  assignment.updateFetching(first);
  expect([...paused]).toEqual(['t/0']);
  start(second);
  expect([...paused]).toEqual([]);
  await second.stop(0);
});

it('a worker goes on if the same member has its partition again', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const signals: AbortSignal[] = [];
  const { assignment, assign, paused, start, fetched } = given((_, __, { signal }) => {
    signals.push(signal);
    return stuck.promise;
  });
  // a worker without a start offset has nothing to go on with
  const unstarted = assign('member');
  const worker = assign('member');
  expect(worker).not.toBe(unstarted);
  start(worker);
  fetched(worker);
  while (signals.length === 0) await idle();
  expect(assign('member')).toBe(worker);
  expect([signals[0]?.aborted, [...paused]]).toEqual([false, ['t/0']]);
  assignment.updateFetching(worker);
  expect([...paused]).toEqual([]);
  // but another member begins at the recorded position: meanwhile others may have got further
  expect(assign('other')).not.toBe(worker);
  while (!signals[0]?.aborted) await idle();
  stuck.resolve(nothing);
});
