import type { Consumer } from 'kafkajs';
import { pino } from 'pino';
import type { Assignment } from '../../services/projector/consumer/assignment.ts';
import { findStartOffsets, resumePartitions } from '../../services/projector/consumer/start-offsets.ts';
import type { Partition } from '../../services/projector/partition/partition.ts';
import { createProgressRecorder } from '../../services/projector/progress/progress.ts';
import { waitUntil } from '../../services/projector/startup/wait-until.ts';
import { type AppliedPosition, progressOf } from '../../shared/control/progress.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { anyOrder } from '../support/order.ts';
import { snapshot } from '../support/snapshot.ts';
import { createPartition } from '../support/start-partition.ts';
import { useProjector } from '../support/use-projector.ts';

const logger = pino({ level: 'silent' });

describe('the offset at which a partition starts', () => {
  const { environment, topic, send, deleteRecords, recreateTopic } = useProjector({
    each: true,
    projectors: 0,
  });
  let log: LogClient;
  beforeEach(async () => {
    log = createLogClient(createKafka(environment.config, logger));
    await log.connect();
    // A projector also waits at its start: a new broker is still loading the group's coordinator.
    const { admin, config, topics } = environment;
    const groupId = config.CONSUMER_GROUP;
    await waitUntil(
      () => undefined,
      () => admin.fetchOffsets({ groupId, topics }),
    );
  });
  afterEach(() => log.disconnect());

  const publish = (count: number) =>
    send('tag', ...Array.from({ length: count }, () => ({ key: 'tag_1', value: 'x' })));
  const commit = (offset: number) =>
    environment.admin.setOffsets({
      groupId: environment.config.CONSUMER_GROUP,
      topic: topic('tag'),
      partitions: [{ partition: 0, offset: String(offset) }],
    });
  const record = (position: number, { leaderEpoch = -1, topicId = null as string | null } = {}) => {
    return createProgressRecorder({
      control: environment.control,
      generation: 1,
      allowanceMs: 0,
      processId: 'p',
    }).save([snapshot({ topic: topic('tag'), position, leaderEpoch, topicId })], new Map(), new Date());
  };
  const unstartedPartition = (kind: Kind = 'tag') =>
    createPartition({ topic: topic(kind), apply: () => new Promise(() => undefined) });
  const deps = () => {
    const { admin, control, config } = environment;
    const beginningOf = () => 0;
    return { admin, log, control, groupId: config.CONSUMER_GROUP, generation: 1, beginningOf };
  };
  const find = async () => {
    const [found] = await findStartOffsets(deps(), [unstartedPartition()]);
    return found && { offset: found.offset, committed: found.committed, end: found.endOffset };
  };

  test.each([
    {
      name: 'is the recorded position if no offset is committed',
      committed: null,
      recorded: 3,
      expected: { offset: 3, committed: null, end: 5 },
    },
    {
      name: 'is the recorded position if an older offset is committed',
      committed: 1,
      recorded: 3,
      expected: { offset: 3, committed: 1, end: 5 },
    },
    {
      name: 'is the recorded position if a later offset is committed',
      committed: 5,
      recorded: 3,
      expected: { offset: 3, committed: 5, end: 5 },
    },
    {
      name: 'is the start of the log if nothing is committed or recorded',
      committed: null,
      recorded: 0,
      expected: { offset: 0, committed: null, end: 5 },
    },
  ])('$name', async ({ committed, recorded, expected }) => {
    await publish(5);
    if (committed !== null) await commit(committed);
    await record(recorded);
    expect(await find()).toEqual(expected);
  });

  test.each([
    {
      name: 'offset 0 is committed, and nothing is applied',
      committed: 0,
      recorded: 0,
      low: 2,
      gone: '0 to 1',
    },
    { name: 'nothing is committed', committed: null, recorded: 3, low: 4, gone: '3 to 3' },
    { name: 'a later offset is committed', committed: 5, recorded: 3, low: 4, gone: '3 to 3' },
  ])('is a gap if the next record is deleted, and $name', async ({ committed, recorded, low, gone }) => {
    await publish(5);
    if (committed !== null) await commit(committed);
    if (recorded > 0) await record(recorded);
    await deleteRecords('tag', low);
    await expect(find()).rejects.toThrow(`the records from offset ${gone} are gone`);
  });

  test('is a gap if the topic was created again after its records were applied', async () => {
    await publish(2);
    const [found] = await findStartOffsets(deps(), [unstartedPartition()]);
    await record(2, { topicId: found?.topicId ?? null });
    expect(await find()).toMatchObject({ offset: 2 });
    await recreateTopic('tag');
    await publish(3);
    await expect(find()).rejects.toThrow('applied records of another topic of this name');
  });

  test('is a gap if the leader does not know the applied epoch', async () => {
    await publish(5);
    await record(3, { leaderEpoch: 0 });
    expect(await find()).toMatchObject({ offset: 3 });
    await progressOf(environment.control).updateMany({}, { $set: { 'applied.leaderEpoch': 7 } });
    await expect(find()).rejects.toThrow('has lost those records from 0 on');
  });

  test('is not a gap after progress of a release without leader epochs', async () => {
    await publish(5);
    await record(2, { leaderEpoch: 0 });
    await progressOf(environment.control).updateMany({}, { $set: { 'applied.leaderEpoch': 7 } });
    // The other release knows fewer fields of the value that it saves.
    const applied: Partial<AppliedPosition> = { position: 4 };
    await progressOf(environment.control).updateOne({ topic: topic('tag') }, { $max: { applied } as object });
    expect(await find()).toMatchObject({ offset: 4 });
    const [{ applied: saved } = { applied: null }] = await progressOf(environment.control).find().toArray();
    expect(saved).toEqual({ position: 4 });
  });

  test('is a gap until an operator accepts that the first records were deleted', async () => {
    await publish(5);
    await deleteRecords('tag', 2);
    await expect(find()).rejects.toThrow('the records from offset 0 to 1 are gone');
    const accepted = { ...deps(), beginningOf: () => 2 };
    expect(await findStartOffsets(accepted, [unstartedPartition()])).toMatchObject([{ offset: 2 }]);
    await deleteRecords('tag', 3);
    await expect(findStartOffsets(accepted, [unstartedPartition()])).rejects.toThrow(
      'from offset 2 to 2 are gone',
    );
  });

  test('is the start of a topic that was created again before any of its records was applied', async () => {
    await publish(1);
    await record(0, { topicId: '1'.repeat(32) });
    expect(await find()).toMatchObject({ offset: 0 });
  });

  test('is found although a new leader reports a shorter log at first', async () => {
    await publish(5);
    await record(3);
    const key = `${topic('tag')}/0`;
    let reads = 0;
    const read: LogClient['read'] = async (topics) => {
      const state = await log.read(topics);
      const ends = new Map(state.ends).set(key, { low: 0, end: 1, stable: 1 });
      reads += 1;
      return reads === 1 ? { ...state, ends } : state;
    };
    const partition = unstartedPartition();
    const fatal = await resume([partition], { log: { ...log, read } });
    expect({ position: partition.position, reads, fatal }).toEqual({ position: 3, reads: 2, fatal: [] });
  });

  test('is found for the other partitions while kafkajs refuses one during a restart', async () => {
    const partitions = [
      unstartedPartition('tag'),
      unstartedPartition('contact'),
      unstartedPartition('topic'),
    ];
    let seeks = 0;
    const seek = () => {
      seeks += 1;
      if (seeks === 2) throw new Error('Consumer group was not initialized');
    };
    expect(await resume(partitions, { seek })).toEqual([]);
    expect(partitions.map(({ position }) => position)).toEqual([0, 0, 0]);
  });

  test('is missing in one log line as long as the same partitions have no leader', async () => {
    const lines: string[] = [];
    const keys = [`${topic('tag')}/0`, `${topic('contact')}/0`];
    let reads = 0;
    const read: LogClient['read'] = async (topics) => {
      const state = await log.read(topics);
      reads += 1;
      // In three reads, neither partition has a leader; in the next two reads, one of them has.
      const led = keys.slice(0, [0, 0, 0, 1, 1][reads - 1] ?? 2);
      return { ...state, ends: new Map([...state.ends].filter(([key]) => led.includes(key))) };
    };
    const write = (line: string) => lines.push((JSON.parse(line) as { error: string }).error);
    await resume([unstartedPartition('tag'), unstartedPartition('contact')], {
      log: { ...log, read },
      to: pino({ level: 'warn', serializers: { error: errorMessage } }, { write }),
    });
    const noOffsets = (keysWithoutOffsets: string[]) =>
      `the brokers report no offsets of ${keysWithoutOffsets.join(', ')}`;
    expect({ reads, lines }).toEqual({ reads: 6, lines: [noOffsets(keys), noOffsets(keys.slice(1))] });
  });

  /** Resumes partitions with this log and consumer. Resolves to the fatal errors. */
  async function resume(
    partitions: Partition[],
    {
      log: read = log,
      seek = () => undefined,
      to = logger,
    }: { log?: LogClient; seek?: () => void; to?: Logger },
  ): Promise<Error[]> {
    const fatal: Error[] = [];
    const onFatal = (error: Error) => fatal.push(error);
    const assignment = { positions: anyOrder().positions, updateFetching: () => undefined };
    await resumePartitions(
      { ...deps(), log: read, logger: to, onFatal, onForeignCommit: () => undefined },
      { seek } as unknown as Consumer,
      assignment as unknown as Assignment,
      partitions,
      new AbortController().signal,
    );
    return fatal;
  }
});
