import { pino } from 'pino';
import { createBudget, createRecordQueue } from '../../services/projector/consumer/record-queue.ts';
import { createPartitionWorker } from '../../services/projector/consumer/partition-worker.ts';
import { createProgressRecorder } from '../../services/projector/consumer/progress.ts';
import { findStartOffsets } from '../../services/projector/consumer/start-offsets.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { createLogClient, type LogClient } from '../../services/projector/kafka/log-client.ts';
import { useProjector } from '../support/use-projector.ts';

const logger = pino({ level: 'silent' });

describe('the offset at which a partition starts', () => {
  const { environment, topic, send, deleteRecords } = useProjector({ each: true, projectors: 0 });
  let log: LogClient;
  beforeEach(async () => {
    log = createLogClient(createKafka(environment.config, logger));
    await log.connect();
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
  const record = (position: number) =>
    createProgressRecorder({ control: environment.control, generation: 1, allowanceMs: 0 })(
      [{ topic: topic('tag'), partition: 0, position, progressCount: 0 }],
      new Map(),
      new Date(),
    );
  const find = async () => {
    const worker = createPartitionWorker({
      topic: topic('tag'),
      partition: 0,
      logger,
      retryDelayMs: 1,
      queue: createRecordQueue({ partition: 0, budget: createBudget(1), chunkBytesMax: () => 1 }),
      waitForTurn: async () => undefined,
      apply: () => Promise.reject(new Error('it applies nothing')),
      onApplied: () => undefined,
    });
    const { admin, control, config } = environment;
    const deps = { admin, log, control, groupId: config.CONSUMER_GROUP, generation: 1 };
    const [found] = await findStartOffsets(deps, [worker]);
    return found && { offset: found.offset, committed: found.committed, end: found.end };
  };

  test.each([
    ['is the recorded position if no offset is committed', null, 3, { offset: 3, committed: -1, end: 5 }],
    ['is the recorded position if an older offset is committed', 1, 3, { offset: 3, committed: 1, end: 5 }],
    [
      'is the start of the log if nothing is committed or recorded',
      null,
      0,
      { offset: 0, committed: -1, end: 5 },
    ],
  ])('%s', async (_, committed, recorded, expected) => {
    await publish(5);
    if (committed !== null) await commit(committed);
    await record(recorded);
    expect(await find()).toEqual(expected);
  });

  test('is a gap if offset 0 is committed, nothing is applied and the first records are deleted', async () => {
    await publish(5);
    await commit(0);
    await deleteRecords('tag', 2);
    await expect(find()).rejects.toThrow('the records from offset 0 to 1 are gone');
  });

  test('is the first record of the log if records were deleted before the group began', async () => {
    await publish(5);
    await deleteRecords('tag', 2);
    expect(await find()).toMatchObject({ offset: 2 });
  });
});
