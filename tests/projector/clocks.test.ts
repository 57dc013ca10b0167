import { dayMs } from '../../shared/documents/instant.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { watermark } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { deletionOf } from '../support/engine.ts';
import { useProjector } from '../support/use-projector.ts';
import { wrongClock } from '../support/wrong-clock.ts';

const late = useProjector({ projectors: 0 });

test('a projector whose host is a year late registers, marks, expires and stores dead letters by the clock of MongoDB', async () => {
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
  const registry = await readRegistry(environment.control);
  const times = {
    orphanedAt: (await find('message', 'msg_1'))?.orphanedAt?.getTime(),
    deletedAt: ((await find('tag', 'tag_1'))?.expiresAt?.getTime() ?? 0) - 3 * dayMs,
    lastAt: deadLetter?.lastAt.getTime(),
    registeredAt: registry?.generations[0]?.registeredAt.getTime(),
  };
  const untilMs = await storeMs();
  for (const [name, ms = 0] of Object.entries(times))
    expect([name, sinceMs <= ms && ms <= untilMs]).toEqual([name, true]);
});

describe('the watermark', () => {
  const { environment, send, publish, applied, start } = useProjector({ each: true, projectors: 0 });

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
});
