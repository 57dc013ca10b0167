import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { eventually } from '../support/eventually.ts';
import { createRandom } from '../support/random.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

describe('servers in trouble', () => {
  const { environment, start, publish, killServer, restartServer, ...expectations } = useFaultServers();
  const { expectConverged, expectCommittedHasEffect } = expectations;

  test.each([
    ['the brokers are unavailable', 'kafka', 3_000],
    // Longer than the driver's default server selection timeout (30 s).
    ['MongoDB is unavailable', 'store', 60_000],
  ] as const)('at its start or later, a projector waits while %s', async (why, server, downMs) => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 800);
    await publish(history.slice(0, 200));
    await killServer(server);
    const projector = start({ ADMIN_PORT: '0' });
    await projector.logged(`waiting: ${why}`);
    // then the projector is alive, and not ready
    const { port } = await projector.logged('admin server listening');
    const probe = async (path: string) => (await fetch(`http://127.0.0.1:${Number(port)}${path}`)).status;
    expect([await probe('/livez'), await probe('/readyz')]).toEqual([200, 503]);
    await restartServer(server);
    await projector.logged('joined the group');
    // and it goes on by itself whenever they are back
    for (const [from, pauseMs] of [
      [200, 0],
      [400, random.int(2_000)],
      [600, downMs],
    ] as const) {
      const publishing = publish(history.slice(from, from + 200));
      await delay(random.int(500));
      await killServer(server);
      await delay(pauseMs);
      expect(await probe('/livez')).toBe(200);
      await restartServer(server);
      await publishing;
    }
    await expectConverged();
  });

  test('a MongoDB that is slow, disconnected, silent, or whose replies are lost, has everything in the end', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed + 1, 1_200);
    const { trouble, listen, cut } = createStoreProxy(environment.config.MONGODB_URL);
    const port = await listen();
    const projector = start({ MONGODB_URL: `${proxiedUrl(port)}&connectTimeoutMS=1000` });
    await projector.logged('joined the group');
    const publishNext = async () => publish(history.splice(0, 200));
    trouble.delayMs = 50;
    await publishNext();
    await delay(1_000);
    trouble.delayMs = 0;
    // and lost replies to writes
    trouble.repliesToLose = 20;
    while (trouble.repliesToLose > 0) {
      await publish(history.splice(0, 10));
      await delay(100);
    }
    await expectCommittedHasEffect();
    for (let round = 0; round < 5; round += 1) {
      await publish(history.splice(0, 40));
      await delay(random.int(300));
      await cut();
      await listen(port);
    }
    // and silent connections, until the driver gives them up
    const { length: before } = projector.log;
    trouble.silent = true;
    await publishNext();
    await eventually(() => projector.log.slice(before).some(isGivenUp) || projector.log.slice(-5));
    trouble.silent = false;
    await publish(history);
    await expectConverged();
    await projector.stop();
    await cut();
  });
});

/** Matches a time-out of any request: a member whose partitions the group has just assigned again applies nothing. */
const isGivenUp = ({ error }: Record<string, unknown>) => /timed out/.test(JSON.stringify(error ?? ''));
