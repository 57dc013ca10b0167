import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigResourceTypes } from 'kafkajs';
import { pino } from 'pino';
import { progressOf } from '../../shared/store/progress.ts';
import { ensureControlIndexes } from '../../services/projector/runtime/control-indexes.ts';
import { startConsumer } from '../../services/projector/consumer/consumer.ts';
import { startCommitLoop } from '../../services/projector/consumer/commit-loop.ts';
import { createLogClient } from '../../services/projector/kafka/log-client.ts';
import { batchRecordsMax } from '../../services/projector/consumer/batches.ts';
import type { KafkaRecord } from '../../services/projector/events/change.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createLiveness } from '../../services/projector/runtime/liveness.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { createMetrics } from '../../services/projector/runtime/metrics.ts';
import { anyOrder } from '../support/order.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';

/** The time of a fast clock that brokers still accept (an hour by default), and a correct time. */
const fast = Date.now() + 30 * 60_000;
const right = Date.now() - 30 * 60_000;
const allowanceMs = 5_000;

describe("a producer's fast clock does not raise the watermark while records are pending", () => {
  let testEnvironment: TestEnvironment;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const topic = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const publish = (value: string, timestampMs: number, count = 1) => {
    const message = { key: value, value, timestamp: String(timestampMs) };
    return testEnvironment.producer.send({
      topic: topic(),
      messages: Array.from({ length: count }, () => message),
    });
  };

  /** Applies records until one has the value `wait`. The test calls `flush`. */
  const run = async () => {
    await ensureControlIndexes(testEnvironment.control);
    const logger = pino({ level: 'silent' });
    const kafka = createKafka(testEnvironment.config, logger);
    const log = createLogClient(kafka);
    await log.connect();
    const applied: KafkaRecord[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let reached = () => {};
    const waiting = new Promise<void>((resolve) => (reached = resolve));
    const timeOf = (record: KafkaRecord) => record.position.timestampMs;
    const order = anyOrder();
    const deps = {
      kafka,
      log,
      admin: testEnvironment.admin,
      control: testEnvironment.control,
      generation: 1,
      topics: [topic()],
      logger,
    };
    const consuming = await startConsumer({
      ...deps,
      groupId: testEnvironment.config.CONSUMER_GROUP,
      queuedBytesMax: 1_000_000,
      sessionTimeoutMs: 10_000,
      apply: async (_, records) => {
        if (records.some(({ value }) => String(value) === 'wait')) {
          reached();
          await released;
        }
        applied.push(...records);
        const times = records.map(timeOf);
        return { events: records.length, rejected: 0, times, appliedToMs: Math.max(...times) };
      },
      timeOf: (_, record) => timeOf(record),
      ...order,
      onApplied: () => undefined,
      onFatal: () => undefined,
    });
    const metrics = createMetrics();
    const liveness = createLiveness(0);
    const commitLoop = startCommitLoop(
      { ...deps, ...order, metrics, liveness, allowanceMs, now: () => new Date() },
      consuming,
      3_600_000,
    );
    const stop = async () => {
      release();
      await commitLoop.stop();
      await consuming.stop(async () => undefined);
      await log.disconnect();
    };
    return { applied, waiting, flush: commitLoop.flush, stop };
  };
  const completeTo = async () =>
    (await progressOf(testEnvironment.control).findOne({ topic: topic() }))?.completeTo.getTime();

  test('if records have the time of their producers', async () => {
    // given applied records of a fast clock, and a pending record after them
    await publish('fast', fast, batchRecordsMax);
    await publish('wait', right);
    const { applied, waiting, flush, stop } = await run();
    await waiting;
    // when progress is saved
    await flush();
    // then the partition is complete up to the pending record
    expect(applied).toHaveLength(batchRecordsMax);
    expect(await completeTo()).toBe(right - allowanceMs);
    await stop();
  }, 60_000);

  test('if the brokers set the time of records, which then counts', async () => {
    const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic(), configEntries }];
    await testEnvironment.admin.alterConfigs({ validateOnly: false, resources });
    await publish('fast', fast);
    const { applied, stop } = await run();
    while (applied.length === 0) await sleep(50);
    expect(applied[0]?.position.timestampMs).toBeLessThan(fast);
    await stop();
  }, 60_000);
});
