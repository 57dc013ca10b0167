import { setTimeout as delay } from 'node:timers/promises';
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

  test(`lose nothing in ${kills} kills over a growing log, a fifth of it poisoned`, async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, kills * eventsPerKill);
    await publish([created('message', `msg_${seed}_large`, { content: 'x'.repeat(900_000) })]);
    const members = [start(), start()];
    for (let kill = 0; kill < kills; kill += 1) {
      const [victim] = members.splice(random.int(2), 1);
      if (!victim) throw new Error('there is no projector');
      if (random.chance(0.8)) await victim.logged('joined the group');
      await publish(history.slice(kill * eventsPerKill, (kill + 1) * eventsPerKill));
      await delay(random.int(500));
      // when a kill ends one projector at any moment of its start or its work
      await victim.stop('SIGKILL');
      if (kill % 10 === 9) await expectCommittedHasEffect();
      members.push(start());
    }
    await expectConverged();
  });

  test('converge although one of them is suspended past its session timeout and then resumes', async () => {
    const random = createRandom(seed + 1);
    const history = randomHistory(seed + 1, 900);
    const frozen = start();
    const other = start();
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
  });
});
