import { pino } from 'pino';
import { dayMs } from '../../shared/documents/retention.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { watermark } from '../../shared/store/progress.ts';
import { startCommitLoop } from '../../services/projector/consumer/commit-loop.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { ensureControlIndexes } from '../../services/projector/startup/open-store.ts';
import { createLiveness } from '../../services/projector/liveness.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { anyOrder } from '../support/order.ts';
import { startConsuming } from '../support/start-consuming.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';

describe('the watermark', () => {
  let testEnvironment: TestEnvironment;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const topic = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const completeToMs = async () => (await watermark(testEnvironment.control, 1))?.getTime() ?? 0;
  const storeMs = async () => (await storeTime(testEnvironment.control)).getTime();

  describe('of a projector whose host has a wrong clock', () => {
    let aheadMs = 0;
    beforeEach(() => {
      const rightMs = Date.now.bind(Date);
      jest.spyOn(Date, 'now').mockImplementation(() => rightMs() + aheadMs);
    });
    afterEach(() => jest.restoreAllMocks());

    test.each([
      ['a day ahead', dayMs],
      ['an hour late', -dayMs / 24],
    ])(
      'goes on rising by the clock of the store while the clock is %s, and after that',
      async (_, wrongMs) => {
        aheadMs = 0;
        const { producer } = testEnvironment;
        await producer.send({ topic: topic(), messages: [encode(created('tag', 'tag_1'), 'structured')] });
        const projector = await runProjector(testEnvironment, { now: () => new Date(Date.now()) });
        await applied(testEnvironment, () => projector.fatal);
        for (const [stepMs, id] of [
          [wrongMs, 'tag_2'],
          [0, 'tag_3'],
        ] as const) {
          aheadMs = stepMs;
          const sinceMs = await storeMs();
          // The brokers reject a timestamp that is more than an hour ahead of their own clock.
          const message = { ...encode(created('tag', id), 'structured'), timestamp: String(sinceMs) };
          await producer.send({ topic: topic(), messages: [message] });
          await eventually(async () => (await completeToMs()) > sinceMs);
          expect(await completeToMs()).toBeLessThanOrEqual(await storeMs());
        }
        expect(await testEnvironment.database.collection('tags').countDocuments()).toBe(3);
        await projector.stop();
      },
      60_000,
    );
  });

  test('does not pass a pending record that is not fetched yet, however fast the clocks of producers are', async () => {
    const { control, producer, config } = testEnvironment;
    await ensureControlIndexes(control);
    const publish = (value: string, timestampMs: number) =>
      producer.send({ topic: topic(), messages: [{ key: 'key', value, timestamp: String(timestampMs) }] });
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    // given an applied record and a pending one of a fast clock, and a pause of fetching, as the queue is full
    const fastMs = Date.now() + 30 * 60_000;
    await publish('applied', fastMs);
    let batches = 0;
    const { consuming, log, stop, position } = await startConsuming(
      testEnvironment,
      [topic()],
      async (_, record) => {
        if ((batches += 1) > 1) await released;
        return record();
      },
    );
    await eventually(() => position(topic()) === 1);
    await publish('x'.repeat(900_000), fastMs);
    await eventually(() => batches === 2);
    // when a record of a right clock is published, and progress is saved after that
    const publishedMs = await storeMs();
    await publish('pending', publishedMs);
    const commitLoop = startCommitLoop(
      {
        ...{ control, log, generation: 1, topics: [topic()], allowanceMs: 0 },
        ...{
          metrics: createMetrics(),
          liveness: createLiveness(0),
          logger: pino({ level: config.LOG_LEVEL }),
        },
        positions: anyOrder().positions,
        clock: () => storeTime(control),
        nowMs: () => performance.now(),
      },
      consuming,
      3_600_000,
    );
    await commitLoop.flush();
    // then no instant from that record on counts as complete
    expect(await completeToMs()).toBeLessThan(publishedMs);
    // until it is applied
    release();
    await eventually(() => position(topic()) === 3);
    await commitLoop.flush();
    expect(await completeToMs()).toBeGreaterThanOrEqual(publishedMs);
    await commitLoop.stop();
    await stop();
  }, 60_000);
});
