import { pino } from 'pino';
import { startConsumer } from '../../services/projector/consumer/consumer.ts';
import type { AppliedChunk } from '../../services/projector/hand-over.ts';
import { createWaitForPrerequisites } from '../../services/projector/partition/wait-for-prerequisites.ts';
import { ensureControlId } from '../../shared/control/control-id.ts';
import { ensureRegistry } from '../../shared/control/generations.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { protocolOf } from '../../shared/kafka/group-members.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';
import { anyOrder } from './order.ts';
import { createPartitionFactory } from './start-partition.ts';
import type { TestEnvironment } from './test-environment.ts';
import { withConsumers } from './waiting-kafka.ts';

/** The consumer sends a heartbeat in each tenth of its session: every two seconds. */
const sessionTimeoutMs = 20_000;

/** Applies records of a topic. `record` notes their values as seen, and returns the result of a chunk. */
export type ApplyValues = (
  topic: string,
  record: () => AppliedChunk,
  signal: AbortSignal,
) => Promise<AppliedChunk>;

export type TestConsumer = {
  /** The errors that would end a projector. */
  fatal: Error[];
  /** The number of partitions that the group has assigned to the consumer. */
  assigned: () => number;
  /** The number of heartbeats that the group has answered. */
  heartbeats: () => number;
  /** The values of the applied records, in order. */
  seen: (topic: string) => string[];
  /** The applied position of the topic's first partition. */
  position: (topic: string) => number | null;
  /** Stops the consumer, which commits its applied positions. */
  stop: () => Promise<void>;
};

/**
 * Runs the projector's consumer alone, in the group of the test environment. It keeps the values of the records in
 * `seen`, and writes no document.
 */
export async function startConsuming(
  testEnvironment: TestEnvironment,
  topics: string[],
  apply: ApplyValues = async (_, record) => record(),
): Promise<TestConsumer> {
  const fatal: Error[] = [];
  const seen = new Map<string, string[]>(topics.map((topic) => [topic, []]));
  const record = (topic: string, records: KafkaRecord[]): AppliedChunk => {
    for (const { value } of records) seen.get(topic)?.push(String(value));
    return { events: records.length, rejected: [], times: [] };
  };
  const logger = pino({ level: 'silent' });
  const kafka = createKafka(testEnvironment.config, logger);
  let heartbeats = 0;
  const countingKafka = withConsumers(kafka, (created) => {
    created.on(created.events.HEARTBEAT, () => {
      heartbeats += 1;
    });
    return created;
  });
  const log = createLogClient(kafka);
  await log.connect();
  const { generation } = await ensureRegistry(testEnvironment.control);
  const controlId = await ensureControlId(testEnvironment.control);
  const { positions, prerequisitesOf } = anyOrder();
  const consumer = await startConsumer({
    kafka: countingKafka,
    log,
    admin: testEnvironment.admin,
    control: testEnvironment.control,
    groupId: testEnvironment.config.CONSUMER_GROUP,
    generation,
    protocol: protocolOf({ controlId, database: testEnvironment.config.DATABASE_NAME, generation }),
    topics,
    queuedBytesMax: 1_000_000,
    sessionTimeoutMs,
    logger,
    positions,
    createPartition: createPartitionFactory({
      apply: ({ topic, records }, { signal }) => apply(topic, () => record(topic, records), signal),
      waitForPrerequisites: createWaitForPrerequisites(positions, prerequisitesOf),
      onFatal: (error) => fatal.push(error),
      logger,
    }),
    beginningOf: () => 0,
    onFetched: () => undefined,
    onForeignCommit: () => undefined,
    onFatal: (error) => fatal.push(error),
  });
  return {
    fatal,
    assigned: () => consumer.snapshot().length,
    heartbeats: () => heartbeats,
    seen: (topic) => seen.get(topic) ?? [],
    position: (topic) => {
      const partitions = consumer.snapshot();
      const first = partitions.find((item) => item.topic === topic && item.partition === 0);
      return first?.position ?? null;
    },
    stop: async () => {
      await consumer.stop(() => consumer.commit(consumer.snapshot()));
      await log.disconnect();
    },
  };
}
