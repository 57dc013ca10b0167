import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { createRandom } from '../support/random.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

describe('brokers that are killed and restarted', () => {
  const { start, publish, killServer, restartServer, expectConverged } = useFaultServers();

  test('are waited for, at the start and at any time later', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 800);
    // given brokers that are down when the projector starts
    await publish(history.slice(0, 200));
    await killServer('kafka');
    const projector = start();
    await projector.logged('waiting: the brokers are unavailable');
    await restartServer('kafka');
    await projector.logged('projecting');
    // when they are killed during its work, and restarted
    for (const from of [200, 400, 600]) {
      const publishing = publish(history.slice(from, from + 200));
      await delay(random.int(1_000));
      await killServer('kafka');
      await delay(random.int(3_000));
      await restartServer('kafka');
      await publishing;
    }
    // then it continues by itself, and loses nothing
    await expectConverged();
  });
});
