import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import type { Event } from '../support/events.ts';
import { createRandom } from '../support/random.ts';
import type { Service } from '../../infra/service.ts';
import { eventually } from '../support/eventually.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

describe('projectors of one group', () => {
  const { environment, topic, applied, start, publish, connectPublisher, ...expectations } =
    useFaultServers();
  const { expectConverged, expectCommittedHasEffect } = expectations;

  const joins = ({ log }: Service) => log.filter(({ msg }) => msg === 'joined the group').length;

  test('converge while up to three of them join and leave', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 1_000);
    const members: Service[] = [start()];
    for (let from = 0; from < history.length; from += 100) {
      await publish(history.slice(from, from + 100));
      await members.at(-1)?.logged('joined the group');
      await delay(random.int(300));
      const leaving =
        members.length === 3 || (members.length > 1 && random.chance(0.4)) ? members.shift() : null;
      if (leaving) expect(await leaving.stop()).toBe(0);
      else members.push(start());
    }
    await expectConverged();
  }, 180_000);

  test('converge although one of them is suspended past its session timeout and then resumes', async () => {
    const random = createRandom(seed + 1);
    const history = randomHistory(seed + 1, 900);
    const [frozen, other] = [start(), start()];
    await Promise.all([frozen.logged('joined the group'), other.logged('joined the group')]);
    for (let round = 0; round < 3; round += 1) {
      const from = round * 300;
      await publish(history.slice(from, from + 200));
      await delay(random.int(400));
      // given a projector that is suspended during its work
      frozen.child.kill('SIGSTOP');
      await publish(history.slice(from + 200, from + 300));
      // until the other has taken its partitions and has applied everything
      await applied();
      await expectCommittedHasEffect();
      // when it resumes, no longer a member of the group
      const before = joins(frozen);
      frozen.child.kill('SIGCONT');
      await eventually(() => joins(frozen) > before);
    }
    await expectConverged();
  }, 180_000);

  test('take up partitions that are added while they run', async () => {
    const history = decidable(randomHistory(seed + 2, 600));
    start();
    start();
    await publish(history.slice(0, 300));
    const topicPartitions = (['tag', 'conversation', 'message'] as const).map((kind) => ({
      topic: topic(kind),
      count: 5,
    }));
    await environment.admin.createPartitions({ topicPartitions });
    // The next producer knows the new partitions: keys move to other partitions.
    await connectPublisher();
    await publish(history.slice(300));
    await expectConverged();
  });
});

/**
 * The events whose outcome does not depend on the order of partitions, although a key's records are in several. The
 * organization of an entity depends on it, since the first record decides.
 */
function decidable(history: Event[]): Event[] {
  const owners = new Map<string, string>();
  for (const { id, orgId } of history) if (!owners.has(id)) owners.set(id, orgId);
  return history.filter(({ id, orgId }) => owners.get(id) === orgId);
}
