import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { expectConverged } from './oracle.ts';
import { startOwnServers, type OwnServers } from './own-servers.ts';
import { createPublisher, type Publisher } from './publisher.ts';

const seed = Number(process.env.SEED ?? 1);

describe('brokers that are killed and restarted', () => {
  let servers: OwnServers;
  let testEnvironment: TestEnvironment;
  let fleet: Fleet;
  let publisher: Publisher;

  beforeAll(async () => {
    servers = await startOwnServers();
    testEnvironment = await createTestEnvironment(2, servers.addresses);
    fleet = createFleet(testEnvironment);
    publisher = await createPublisher(testEnvironment, seed);
  }, 120_000);
  afterAll(async () => {
    await fleet.stop();
    await publisher.close();
    await testEnvironment.close();
    await servers.stop();
  }, 120_000);

  test('are waited for, at the start and at any time later', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 800);
    // given brokers that are down when the projector starts
    await publisher.publish(history.slice(0, 200));
    await servers.control.kill('kafka', 'SIGKILL');
    const projector = fleet.add();
    await projector.logged('waiting: the brokers are unavailable');
    await servers.control.restart('kafka');
    await projector.logged('projecting');
    // when they are killed during its work, and restarted
    for (const from of [200, 400, 600]) {
      const publishing = publisher.publish(history.slice(from, from + 200));
      await delay(random.int(1_000));
      await servers.control.kill('kafka', 'SIGKILL');
      await delay(random.int(3_000));
      await servers.control.restart('kafka');
      await publishing;
    }
    // then it continues by itself, and loses nothing
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 240_000);
});
