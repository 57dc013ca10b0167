import { readRegistry } from '../../shared/control/generations.ts';
import { readWatermark } from '../../shared/control/progress.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';
import { wrongClock } from '../support/wrong-clock.ts';

const hourMs = 3_600_000;

const { environment, send, publish, applied, committed, find, deadLetters, startProcess } = useProjector({
  each: true,
  projectors: 0,
});

test.each([
  ['a year late', -365 * dayMs],
  ['a day ahead', dayMs],
])('a projector on a host that is %s stores every time by the clock of MongoDB', async (_, fromStartMs) => {
  const storeMs = async () => (await storeTime(environment.control)).getTime();
  const completeToMs = async () => (await readWatermark(environment.control, 1))?.getTime() ?? 0;
  const sinceMs = await storeMs();
  startProcess({ ...wrongClock({ fromStartMs }), TOMBSTONE_DAYS: '3' });
  // when it applies a message without its conversation, a deletion, and a record that it cannot apply
  const tag = created('tag', 'tag_1');
  await publish(created('message', 'msg_1'), tag, deletionOf(tag, 2));
  await send('tag', { key: 'tag_2', value: 'no event' });
  await applied();
  await eventually(async () => (await completeToMs()) >= sinceMs);
  // then the times on which readers, the sweep, MongoDB and a deletion depend are right
  const [deadLetter] = await deadLetters();
  const registry = await readRegistry(environment.control);
  const times = {
    orphanedAt: (await find('message', 'msg_1'))?.orphanedAt?.getTime(),
    deletedAt: ((await find('tag', 'tag_1'))?.expiresAt?.getTime() ?? 0) - 3 * dayMs,
    lastAt: deadLetter?.lastAt.getTime(),
    startedAt: registry?.generations[0]?.startedAt?.getTime(),
    completeTo: await completeToMs(),
  };
  const untilMs = await storeMs();
  for (const [name, ms = 0] of Object.entries(times))
    expect({ name, isWithin: sinceMs <= ms && ms <= untilMs }).toEqual({ name, isWithin: true });
});

test('a projector whose clock is set back by an hour ends with the reason', async () => {
  const projector = startProcess(wrongClock({ fromSignalMs: -hourMs }));
  await publish(created('tag', 'tag_1'));
  await applied();
  projector.child.kill('SIGUSR2');
  // then it leaves its group, and ends so that its supervisor starts it again
  const { error } = await projector.logged('the projector cannot continue');
  expect(JSON.stringify(error)).toContain('the clock of this host was set back by 3600 s');
  expect(await projector.stop()).toBe(75);
  expect(await committed('tag')).toBe(1);
  const { groups } = await environment.admin.describeGroups([environment.config.CONSUMER_GROUP]);
  expect(groups[0]?.members).toEqual([]);
  // and the next projector continues with the same clock
  startProcess(wrongClock({ fromStartMs: -hourMs }));
  await publish(created('tag', 'tag_2'));
  await eventually(async () => (await committed('tag')) === 2);
});
