import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { createRandom } from '../support/random.ts';
import type { Service } from '../../infra/service.ts';
import { eventually } from '../support/eventually.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

describe('projectors of one group', () => {
  const { applied, start, publish, expectConverged, expectCommittedHasEffect } = useFaultServers();

  const joins = ({ log }: Service) => log.filter(({ msg }) => msg === 'joined the group').length;

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
  });
});
