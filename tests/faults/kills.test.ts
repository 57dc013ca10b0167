import { setTimeout as delay } from 'node:timers/promises';
import { randomHistory } from '../convergence/history.ts';
import { created } from '../support/entities.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { expectCommittedHasEffect, expectConverged } from './oracle.ts';
import { startOwnServers, type OwnServers } from './own-servers.ts';
import { createPublisher, type Publisher } from './publisher.ts';

const seed = Number(process.env.SEED ?? 1);
const kills = Number(process.env.KILLS ?? 50);
const eventsPerKill = 50;

describe('projectors that are killed', () => {
  let servers: OwnServers;
  let testEnvironment: TestEnvironment;
  let fleet: Fleet;
  let publisher: Publisher;

  beforeAll(async () => {
    servers = await startOwnServers();
    testEnvironment = await createTestEnvironment(2, servers.addresses);
    fleet = createFleet(testEnvironment);
    publisher = await createPublisher(testEnvironment, seed, { transactional: true });
  }, 120_000);
  afterAll(async () => {
    await fleet.stop();
    await publisher.close();
    await testEnvironment.close();
    await servers.stop();
  }, 120_000);

  test(`lose nothing in ${kills} kills over a growing log, a fifth of it poisoned`, async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, kills * eventsPerKill);
    await publisher.publish([created('message', `msg_${seed}_large`, { content: 'x'.repeat(900_000) })]);
    fleet.add();
    fleet.add();
    for (let kill = 0; kill < kills; kill += 1) {
      // given two projectors at work
      const victim = fleet.pick(random);
      if (random.chance(0.8)) await victim.logged('joined the group');
      await publisher.publish(history.slice(kill * eventsPerKill, (kill + 1) * eventsPerKill));
      await delay(random.int(500));
      // when one is killed at any moment of its start or its work
      await fleet.kill(victim);
      if (kill % 10 === 9) await expectCommittedHasEffect(testEnvironment, seed);
      fleet.add();
    }
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 420_000);
});
