import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigResourceTypes } from 'kafkajs';
import { pino } from 'pino';
import { progressOf } from '../../shared/runtime/generation.ts';
import { ensureControlIndexes } from '../../services/projector/control.ts';
import { consume } from '../../services/projector/consume/consumer.ts';
import { startFlusher } from '../../services/projector/consume/flush.ts';
import { createLogClient } from '../../services/projector/consume/log-client.ts';
import { recordsPerStepMax } from '../../services/projector/consume/steps.ts';
import type { BusRecord } from '../../services/projector/events/change.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createLiveness } from '../../services/projector/liveness.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { anyOrder } from '../support/order.ts';
import { createRig, type Rig } from '../support/projectors.ts';

/** A clock that brokers still accept, which is an hour by default, and one that is right. */
const fast = Date.now() + 30 * 60_000;
const right = Date.now() - 30 * 60_000;
const allowanceMs = 5_000;

describe("a producer's fast clock promises nothing while records wait", () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await createRig(1);
  }, 60_000);
  afterEach(() => rig.close(), 60_000);

  const topic = () => topicOf('tag', rig.config.TOPIC_PREFIX);
  const publish = (value: string, timestampMs: number, count = 1) => {
    const message = { key: value, value, timestamp: String(timestampMs) };
    return rig.producer.send({ topic: topic(), messages: Array.from({ length: count }, () => message) });
  };

  /** Applies what is published until a record says `wait`; flushes when told. */
  const run = async () => {
    await ensureControlIndexes(rig.control);
    const logger = pino({ level: 'silent' });
    const kafka = createKafka(rig.config, logger);
    const log = createLogClient(kafka);
    await log.connect();
    const applied: BusRecord[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let met = () => {};
    const waiting = new Promise<void>((resolve) => (met = resolve));
    const timeOf = (record: BusRecord) => record.position.timestampMs;
    const order = anyOrder();
    const deps = {
      kafka,
      log,
      admin: rig.admin,
      control: rig.control,
      generation: 1,
      topics: [topic()],
      logger,
    };
    const consuming = await consume({
      ...deps,
      groupId: rig.config.CONSUMER_GROUP,
      queuedBytesMax: 1_000_000,
      sessionTimeoutMs: 10_000,
      apply: async (_, records) => {
        if (records.some(({ value }) => String(value) === 'wait')) {
          met();
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
    const flusher = startFlusher(
      { ...deps, ...order, metrics, liveness, allowanceMs, now: () => new Date() },
      consuming,
      3_600_000,
    );
    const stop = async () => {
      release();
      await flusher.stop();
      await consuming.stop(async () => undefined);
      await log.disconnect();
    };
    return { applied, waiting, flush: flusher.flush, stop };
  };
  const completeTo = async () =>
    (await progressOf(rig.control).findOne({ topic: topic() }))?.completeTo.getTime();

  test('where records carry the time of their producers', async () => {
    // given records of a fast clock that are applied, and one behind them that waits
    await publish('fast', fast, recordsPerStepMax);
    await publish('wait', right);
    const { applied, waiting, flush, stop } = await run();
    await waiting;
    // when progress is recorded
    await flush();
    // then what is promised ends before the one that waits
    expect(applied).toHaveLength(recordsPerStepMax);
    expect(await completeTo()).toBe(right - allowanceMs);
    await stop();
  }, 60_000);

  test('where the brokers stamp them, as their time is the one that counts', async () => {
    const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic(), configEntries }];
    await rig.admin.alterConfigs({ validateOnly: false, resources });
    await publish('fast', fast);
    const { applied, stop } = await run();
    while (applied.length === 0) await sleep(50);
    expect(applied[0]?.position.timestampMs).toBeLessThan(fast);
    await stop();
  }, 60_000);
});
