import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { eventually } from '../support/eventually.ts';
import { expectCommittedHasEffect, expectConverged } from './oracle.ts';
import { startOwnServers, type OwnServers } from './own-servers.ts';
import { createPublisher, type Publisher } from './publisher.ts';

const seed = Number(process.env.SEED ?? 1);
/** Longer than the driver's default server selection timeout (30 s). */
const downMs = 60_000;

describe('a MongoDB in trouble', () => {
  let servers: OwnServers;
  let testEnvironment: TestEnvironment;
  let fleet: Fleet;
  let publisher: Publisher;

  beforeAll(async () => {
    servers = await startOwnServers();
  }, 120_000);
  afterAll(() => servers.stop(), 60_000);
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(2, servers.addresses);
    publisher = await createPublisher(testEnvironment, seed);
  }, 60_000);
  afterEach(async () => {
    await fleet.stop();
    await publisher.close();
    await testEnvironment.close();
  }, 60_000);

  test('is waited for: down at the start, killed, down for a minute', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 800);
    fleet = createFleet(testEnvironment, { ADMIN_PORT: '0' });
    await servers.control.kill('store', 'SIGKILL');
    const projector = fleet.add();
    await projector.logged('waiting: MongoDB is unavailable');
    // then the projector is alive, and not ready
    const { port } = await projector.logged('admin server listening');
    const probe = async (path: string) => (await fetch(`http://127.0.0.1:${Number(port)}${path}`)).status;
    expect([await probe('/livez'), await probe('/readyz')]).toEqual([200, 503]);
    await servers.control.restart('store');
    await projector.logged('joined the group');
    for (const [from, pauseMs] of [
      [0, 0],
      [200, random.int(2_000)],
      [400, downMs],
    ] as const) {
      await publisher.publish(history.slice(from, from + 100));
      await delay(random.int(500));
      await servers.control.kill('store', 'SIGKILL');
      await publisher.publish(history.slice(from + 100, from + 200));
      await delay(pauseMs);
      expect(await probe('/livez')).toBe(200);
      await servers.control.restart('store');
    }
    await publisher.publish(history.slice(600));
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 240_000);

  test('that is slow, disconnected, silent, or whose replies are lost, has everything in the end', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed + 1, 1_200);
    const { trouble, listen, cut } = createStoreProxy(testEnvironment.config.MONGODB_URL);
    const port = await listen(0);
    fleet = createFleet(testEnvironment, { MONGODB_URL: `${proxiedUrl(port)}&connectTimeoutMS=1000` });
    const projector = fleet.add();
    await projector.logged('joined the group');
    const publishNext = async () => publisher.publish(history.splice(0, 200));
    // given late replies
    trouble.delayMs = 50;
    await publishNext();
    await delay(1_000);
    trouble.delayMs = 0;
    // and lost replies to writes
    trouble.repliesToLose = 20;
    while (trouble.repliesToLose > 0) {
      await publisher.publish(history.splice(0, 10));
      await delay(100);
    }
    await expectCommittedHasEffect(testEnvironment, seed);
    // and connections that are cut during the work
    for (let round = 0; round < 5; round += 1) {
      await publisher.publish(history.splice(0, 40));
      await delay(random.int(300));
      await cut();
      await listen(port);
    }
    // and silent connections, until the driver gives them up
    trouble.silent = true;
    await publishNext();
    await eventually(() => projector.log.some(isGivenUp), fleet.fatal);
    trouble.silent = false;
    await publisher.publish(history);
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
    await fleet.stop();
    await cut();
  }, 240_000);
});

const isGivenUp = ({ msg, error }: Record<string, unknown>) =>
  String(msg).startsWith('could not apply') && /timed out/.test(JSON.stringify(error));
