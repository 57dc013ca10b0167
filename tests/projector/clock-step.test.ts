import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';
import { wrongClock } from '../support/wrong-clock.ts';

const { environment, publish, applied, committed, startProcess } = useProjector({ projectors: 0 });

test('a projector whose clock is set back by an hour commits, ends with the reason, and continues when it is started again', async () => {
  const hourMs = 3_600_000;
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
  // and the next one goes on, with the same clock
  startProcess(wrongClock({ fromStartMs: -hourMs }));
  await publish(created('tag', 'tag_2'));
  await eventually(async () => (await committed('tag')) === 2);
});
