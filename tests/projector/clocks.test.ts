import { pino } from 'pino';
import { dayMs } from '../../shared/documents/retention.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { watermark } from '../../shared/control/progress.ts';
import { startCommitLoop } from '../../services/projector/consumer/commit-loop.ts';
import { ensureControlIndexes } from '../../services/projector/startup/open-store.ts';
import { createLiveness } from '../../services/projector/liveness.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { deletionOf } from '../support/engine.ts';
import { anyOrder } from '../support/order.ts';
import { startConsuming } from '../support/start-consuming.ts';
import { useProjector } from '../support/use-projector.ts';
import { wrongClock } from '../support/wrong-clock.ts';

const late = useProjector({ projectors: 0 });

test('a projector whose host is a year late marks, expires and stores dead letters by the clock of MongoDB', async () => {
  const { environment, send, publish, applied, find, deadLetters, startProcess } = late;
  const storeMs = async () => (await storeTime(environment.control)).getTime();
  const sinceMs = await storeMs();
  startProcess({ ...wrongClock({ fromStartMs: -365 * dayMs }), TOMBSTONE_DAYS: '3' });
  // when it applies a message without its conversation, a deletion, and a record that it cannot apply
  const tag = created('tag', 'tag_1');
  await publish(created('message', 'msg_1'), tag, deletionOf(tag, 2));
  await send('tag', { key: 'tag_2', value: 'no event' });
  await applied();
  // then the times that the sweep, MongoDB and a deletion go by are right
  const [deadLetter] = await deadLetters();
  const times = {
    orphanedAt: (await find('message', 'msg_1'))?.orphanedAt?.getTime(),
    deletedAt: ((await find('tag', 'tag_1'))?.expiresAt?.getTime() ?? 0) - 3 * dayMs,
    lastAt: deadLetter?.lastAt.getTime(),
  };
  const untilMs = await storeMs();
  for (const [name, ms = 0] of Object.entries(times))
    expect([name, sinceMs <= ms && ms <= untilMs]).toEqual([name, true]);
});

describe('the watermark', () => {
  const { environment, topic, send, publish, applied, start } = useProjector({ each: true, projectors: 0 });

  const completeToMs = async () => (await watermark(environment.control, 1))?.getTime() ?? 0;
  const storeMs = async () => (await storeTime(environment.control)).getTime();

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
      'continues to rise by the clock of the store while the clock is %s, and after that',
      async (_, wrongMs) => {
        aheadMs = 0;
        await publish(created('tag', 'tag_1'));
        await start();
        await applied();
        for (const [stepMs, id] of [
          [wrongMs, 'tag_2'],
          [0, 'tag_3'],
        ] as const) {
          aheadMs = stepMs;
          const sinceMs = await storeMs();
          // The brokers reject a timestamp that is more than an hour ahead of their own clock.
          await send('tag', { ...encode(created('tag', id), 'structured'), timestamp: String(sinceMs) });
          await eventually(async () => (await completeToMs()) > sinceMs);
          expect(await completeToMs()).toBeLessThanOrEqual(await storeMs());
        }
        expect(await environment.database.collection('tags').countDocuments()).toBe(3);
      },
    );
  });

  test('does not pass a pending record that is not fetched yet, however fast the clocks of producers are', async () => {
    const { control, config } = environment;
    await ensureControlIndexes(control);
    const publishAt = (value: string, timestampMs: number) =>
      send('tag', { key: 'key', value, timestamp: String(timestampMs) });
    const released = Promise.withResolvers<void>();
    // given an applied record and a pending one of a fast clock, and a pause of fetching, as the queue is full
    const fastMs = Date.now() + 30 * 60_000;
    await publishAt('applied', fastMs);
    let batches = 0;
    const { consuming, log, stop, position } = await startConsuming(
      environment,
      [topic('tag')],
      async (_, record) => {
        if ((batches += 1) > 1) await released.promise;
        return record();
      },
    );
    await eventually(() => position(topic('tag')) === 1);
    await publishAt('x'.repeat(900_000), fastMs);
    await eventually(() => batches === 2);
    // when a record of a right clock is published, and progress is saved after that
    const publishedMs = await storeMs();
    await publishAt('pending', publishedMs);
    const commitLoop = startCommitLoop(
      {
        control,
        log,
        generation: 1,
        topics: [topic('tag')],
        allowanceMs: 0,
        registeredAt: new Date(0),
        metrics: createMetrics(),
        liveness: createLiveness(0),
        logger: pino({ level: config.LOG_LEVEL }),
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
    released.resolve();
    await eventually(() => position(topic('tag')) === 3);
    await commitLoop.flush();
    expect(await completeToMs()).toBeGreaterThanOrEqual(publishedMs);
    await commitLoop.stop();
    await stop();
  });
});
