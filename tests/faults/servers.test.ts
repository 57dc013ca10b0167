import { setTimeout as sleep } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { createRandom } from '../support/random.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { seed, useFaultServers } from './use-fault-servers.ts';

describe('projectors whose servers fail', () => {
  const { environment, start, publish, killServer, restartServer, ...expectations } = useFaultServers();
  const { expectConverged, expectCommittedHasEffect } = expectations;

  test.each([
    ['the brokers are unavailable', 'kafka', 3_000],
    // Longer than the driver's default server selection timeout (30 s).
    ['MongoDB is unavailable', 'store', 60_000],
  ] as const)('a projector waits at any time while %s', async (reason, server, downMs) => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 800);
    await publish(history.slice(0, 200));
    await killServer(server);
    const projector = start({ ADMIN_PORT: '0' });
    await projector.logged(`waiting: ${reason}`);
    // then the projector is alive but not ready
    const { port } = await projector.logged('admin server listening');
    const probe = async (path: string) => (await fetch(`http://127.0.0.1:${Number(port)}${path}`)).status;
    expect([await probe('/livez'), await probe('/readyz')]).toEqual([200, 503]);
    await restartServer(server);
    await projector.logged('joined the group');
    // then the projector continues after each outage without a restart
    const outages = [
      { start: 200, pauseMs: 0 },
      { start: 400, pauseMs: random.int(2_000) },
      { start: 600, pauseMs: downMs },
    ];
    for (const { start: first, pauseMs } of outages) {
      const publishing = publish(history.slice(first, first + 200));
      await sleep(random.int(500));
      await killServer(server);
      await sleep(pauseMs);
      expect(await probe('/livez')).toBe(200);
      await restartServer(server);
      await publishing;
    }
    await expectConverged();
  });

  test('apply every record after MongoDB was slow, disconnected and silent, and lost replies', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed + 1, 1_200);
    const { trouble, listen, cut } = createStoreProxy(environment.config.MONGODB_URL);
    const port = await listen();
    const projector = start({ MONGODB_URL: `${proxiedUrl(port)}&connectTimeoutMS=1000` });
    await projector.logged('joined the group');
    const publishNext = async () => publish(history.splice(0, 200));
    trouble.delayMs = 50;
    await publishNext();
    await sleep(1_000);
    trouble.delayMs = 0;
    // given lost replies to writes
    trouble.repliesToLose = 20;
    while (trouble.repliesToLose > 0) {
      await publish(history.splice(0, 10));
      await sleep(100);
    }
    await expectCommittedHasEffect();
    for (let round = 0; round < 5; round += 1) {
      await publish(history.splice(0, 40));
      await sleep(random.int(300));
      await cut();
      await listen(port);
    }
    // given connections that stay silent until the driver gives them up
    const linesBefore = projector.log.length;
    trouble.silent = true;
    await publishNext();
    await eventually(
      () => projector.log.slice(linesBefore).some(isTimeOut) || notYet(projector.log.slice(-5)),
    );
    trouble.silent = false;
    await publish(history);
    // then every document equals the fold of the log
    await expectConverged();
    await projector.stop();
    await cut();
  });
});

/** Matches the time-out of any request, because a projector after a rebalance may send no write. */
const isTimeOut = ({ error }: Record<string, unknown>) => JSON.stringify(error ?? '').includes('timed out');
