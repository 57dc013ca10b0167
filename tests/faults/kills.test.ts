import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../../infra/service.ts';
import { randomHistory } from '../convergence/history.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { createRandom } from '../support/random.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

const kills = Number(process.env.KILLS ?? 50);
const eventsPerKill = 50;

const joins = ({ log }: Service) => log.filter(({ msg }) => msg === 'joined the group').length;

describe('projectors of one group', () => {
  const { applied, start, publish, expectConverged, expectCommittedHasEffect } = useFaultServers({
    transactional: true,
  });

  test(`lose no record of a growing log in ${kills} kills`, async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, kills * eventsPerKill);
    await publish([created('message', `msg_${seed}_large`, { content: 'x'.repeat(900_000) })]);
    const members = [start(), start()];
    for (let kill = 0; kill < kills; kill += 1) {
      const [victim] = members.splice(random.int(2), 1);
      if (!victim) throw new Error('there is no projector');
      if (random.chance(0.8)) await victim.logged('joined the group');
      await publish(history.slice(kill * eventsPerKill, (kill + 1) * eventsPerKill));
      await sleep(random.int(500));
      // when a kill ends one projector at any moment of its start or its work
      await victim.stop('SIGKILL');
      if (kill % 10 === 9) await expectCommittedHasEffect();
      members.push(start());
    }
    await expectConverged();
  });

  test('converge although a projector is suspended past its session timeout and then resumes', async () => {
    const random = createRandom(seed + 1);
    const history = randomHistory(seed + 1, 900);
    const suspended = start();
    const otherProjector = start();
    await Promise.all([suspended.logged('joined the group'), otherProjector.logged('joined the group')]);
    for (let round = 0; round < 3; round += 1) {
      const index = round * 300;
      await publish(history.slice(index, index + 200));
      await sleep(random.int(400));
      // given a projector that is suspended during its work
      suspended.child.kill('SIGSTOP');
      await publish(history.slice(index + 200, index + 300));
      // given that the other projector has taken its partitions and has applied every record
      await applied();
      await expectCommittedHasEffect();
      // when the suspended projector resumes, which is no longer a member of the group
      const joinsBefore = joins(suspended);
      suspended.child.kill('SIGCONT');
      await eventually(() => joins(suspended) > joinsBefore);
    }
    // then the documents equal the fold of the log
    await expectConverged();
  });
});
