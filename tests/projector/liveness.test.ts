import type { Admin, ConsumerRunConfig, Kafka } from 'kafkajs';
import { storeTime } from '../../shared/store/clock.ts';
import { progressOf } from '../../shared/store/progress.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';

/** After this long a partition is stuck; the commit loop may be silent for longer. */
const longMs = 400_000;

describe('/livez, with a real Kafka and a real MongoDB', () => {
  let testEnvironment: TestEnvironment;
  let aheadMs: number;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
    aheadMs = 0;
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const nowMs = () => performance.now() + aheadMs;
  const now = () => storeTime(testEnvironment.control);
  const topic = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const messages = [encode(created('tag', 'tag_1'), 'structured')];
  const isRecordedAfter = async (instant: Date) =>
    (await progressOf(testEnvironment.control).findOne({ updatedAt: { $gt: instant } })) !== null;
  /** Resolves when progress has been recorded at a time that was read after this was called. */
  const observed = async () => {
    const since = await now();
    await eventually(() => isRecordedAfter(since));
    // What is recorded is observed a moment later, in the turn after at the latest.
    const next = await now();
    await eventually(() => isRecordedAfter(next));
  };
  const long = async () => {
    await observed();
    aheadMs += longMs;
    await observed();
  };

  test('fails if a record is pending and the consumer hangs', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const through = (kafka: Kafka) => {
      const consumer: Kafka['consumer'] = (options) => {
        const made = kafka.consumer(options);
        const run = async ({ eachBatch, ...rest }: ConsumerRunConfig = {}) =>
          made.run({
            ...rest,
            eachBatch: async (payload) => {
              await released;
              await eachBatch?.(payload);
            },
          });
        return { ...made, run };
      };
      return Object.assign(Object.create(kafka) as Kafka, { consumer });
    };
    const projector = await runProjector(testEnvironment, { nowMs, through });
    await long();
    expect(projector.live()).toBeNull();
    await testEnvironment.producer.send({ topic: topic(), messages });
    await long();
    expect(projector.live()).toMatch(/tags\/0 has records, but has not moved for \d+ s/);
    // and succeeds again once it continues
    release();
    await applied(testEnvironment);
    await observed();
    expect(projector.live()).toBeNull();
    await projector.stop();
  }, 60_000);

  test('fails if a bug prevents the start offset of a partition from being found', async () => {
    const through = (kafka: Kafka) => {
      const admin: Kafka['admin'] = (options) => {
        const made = kafka.admin(options);
        // The first call only checks whether the brokers are ready.
        let isAsked = false;
        const fetchOffsets: Admin['fetchOffsets'] = (group) => {
          if (isAsked) return Promise.reject(new TypeError('a bug'));
          isAsked = true;
          return made.fetchOffsets(group);
        };
        return { ...made, fetchOffsets };
      };
      return Object.assign(Object.create(kafka) as Kafka, { admin });
    };
    const other = await runProjector(testEnvironment, { nowMs });
    const projector = await runProjector(testEnvironment, { nowMs, through });
    await long();
    expect(projector.live()).toMatch(/has records, but has not moved for \d+ s/);
    expect(other.live()).toBeNull();
    await Promise.all([projector.stop(), other.stop()]);
  }, 60_000);

  test('does not fail while the records are in an open transaction', async () => {
    const projector = await runProjector(testEnvironment, { nowMs });
    const producer = testEnvironment.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      transactionalId: testEnvironment.name,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: topic(), messages });
    await long();
    expect(projector.live()).toBeNull();
    await transaction.commit();
    await producer.disconnect();
    await applied(testEnvironment);
    await projector.stop();
  }, 60_000);
});
