import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { created } from '../support/entities.ts';
import { createRandom } from '../support/random.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

const kills = Number(process.env.KILLS ?? 50);
const eventsPerKill = 50;

describe('projectors that are killed', () => {
  const { start, publish, expectConverged, expectCommittedHasEffect } = useFaultServers({
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
      // when one is killed at any moment of its start or its work
      await victim.stop('SIGKILL');
      if (kill % 10 === 9) await expectCommittedHasEffect();
      members.push(start());
    }
    await expectConverged();
  });
});
