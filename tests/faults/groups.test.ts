import { setTimeout as delay } from 'node:timers/promises';
import { topicOf } from '../../services/projector/events/topics.ts';
import { randomHistory } from '../convergence/history.ts';
import type { Event } from '../support/events.ts';
import { applied, createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import type { Service } from '../support/service.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { eventually } from '../support/eventually.ts';
import { expectCommittedHasEffect, expectConverged } from './oracle.ts';
import { startOwnServers, type OwnServers } from './own-servers.ts';
import { createPublisher, type Publisher } from './publisher.ts';

const seed = Number(process.env.SEED ?? 1);

describe('projectors of one group', () => {
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
    fleet = createFleet(testEnvironment);
    publisher = await createPublisher(testEnvironment, seed);
  }, 60_000);
  afterEach(async () => {
    await fleet.stop();
    await publisher.close();
    await testEnvironment.close();
  }, 60_000);

  const joins = ({ log }: Service) => log.filter(({ msg }) => msg === 'joined the group').length;

  test('converge while up to three of them join and leave', async () => {
    const random = createRandom(seed);
    const history = randomHistory(seed, 1_000);
    const members: Service[] = [fleet.add()];
    for (let start = 0; start < history.length; start += 100) {
      await publisher.publish(history.slice(start, start + 100));
      await members.at(-1)?.logged('joined the group');
      await delay(random.int(300));
      const leaving =
        members.length === 3 || (members.length > 1 && random.chance(0.4)) ? members.shift() : null;
      if (leaving) await fleet.leave(leaving);
      else members.push(fleet.add());
    }
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 180_000);

  test('converge although one of them is suspended past its session timeout and then resumes', async () => {
    const random = createRandom(seed + 1);
    const history = randomHistory(seed + 1, 900);
    const [frozen, other] = [fleet.add(), fleet.add()];
    await Promise.all([frozen.logged('joined the group'), other.logged('joined the group')]);
    for (let round = 0; round < 3; round += 1) {
      const from = round * 300;
      await publisher.publish(history.slice(from, from + 200));
      await delay(random.int(400));
      // given a projector that is suspended during its work
      frozen.child.kill('SIGSTOP');
      await publisher.publish(history.slice(from + 200, from + 300));
      // until the other has taken its partitions and has applied everything
      await applied(testEnvironment, fleet.fatal);
      await expectCommittedHasEffect(testEnvironment, seed);
      // when it resumes, no longer a member of the group
      const before = joins(frozen);
      frozen.child.kill('SIGCONT');
      await eventually(() => joins(frozen) > before, fleet.fatal);
    }
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 180_000);

  test('take up partitions that are added while they run', async () => {
    const history = decidable(randomHistory(seed + 2, 600));
    fleet.add();
    fleet.add();
    await publisher.publish(history.slice(0, 300));
    const topicPartitions = (['tag', 'conversation', 'message'] as const).map((kind) => ({
      topic: topicOf(kind, testEnvironment.config.TOPIC_PREFIX),
      count: 5,
    }));
    await testEnvironment.admin.createPartitions({ topicPartitions });
    // A producer that knows the new partitions: keys move to other partitions.
    await publisher.close();
    publisher = await createPublisher(testEnvironment, seed + 1);
    await publisher.publish(history.slice(300));
    await expectConverged(testEnvironment, seed, publisher, fleet.fatal);
  }, 120_000);
});

/**
 * The events whose outcome does not depend on the order of partitions, although a key's records are in several. The
 * organization of an entity depends on it, since the first record decides.
 */
function decidable(history: Event[]): Event[] {
  const owners = new Map<string, string>();
  for (const { id, orgId } of history) if (!owners.has(id)) owners.set(id, orgId);
  return history.filter(({ id, orgId }) => owners.get(id) === orgId);
}
