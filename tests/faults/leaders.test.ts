import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { kafkaPart } from '../../infra/dev-servers/native/kafka.ts';
import { serverProperties } from '../../infra/dev-servers/native/kafka-settings.ts';
import { answers, freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer, type Server } from '../../infra/dev-servers/native/server.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import type { Kind } from '../../shared/documents/document.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { untilLed } from '../../services/cli/topics.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { patchKafkajs } from '../../services/projector/kafka/kafkajs-patch.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { applied, createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { createFleet, type Fleet } from './fleet.ts';

/** Starts a broker as node 2 of the cluster whose controller listens on `controller`. */
async function startSecondBroker(
  dir: string,
  ports: { broker: number; controller: number },
): Promise<Server> {
  const { command } = kafkaPart(dir, ports, false);
  const data = join(dir, 'data');
  const settings = serverProperties(data, ports)
    .replace('process.roles=broker,controller', 'process.roles=broker')
    .replace('node.id=1', 'node.id=2')
    .replace(`,CONTROLLER://127.0.0.1:${ports.controller}`, '');
  writeFileSync(join(dir, 'server.properties'), settings);
  const identity = join(data, 'meta.properties');
  const lines = readFileSync(identity, 'utf8').split('\n');
  const own = lines.filter((line) => !line.startsWith('directory.id=')).join('\n');
  writeFileSync(identity, own.replace('node.id=1', 'node.id=2'));
  return startServer([{ command, ready: () => answers(ports.broker) }]);
}

describe('a partition without a leader', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let ports: { broker: number; controller: number };
  let secondPort: number;
  let first: Server;
  let second: Server;
  let testEnvironment: TestEnvironment;
  let fleet: Fleet;

  beforeAll(async () => {
    // The clients of the test, too, have to go on without this leader.
    patchKafkajs();
    folder = await temporaryFolder('support-read-models-faults-');
    const [broker = 0, controller = 0, other = 0] = await freePorts(3);
    ports = { broker, controller };
    secondPort = other;
    for (const name of ['one', 'two']) mkdirSync(join(folder.path, name));
    first = await startServer([kafkaPart(join(folder.path, 'one'), ports, false)]);
    const addresses = { KAFKA_BROKERS: `127.0.0.1:${broker}`, MONGODB_URL: process.env.MONGODB_URL ?? '' };
    testEnvironment = await createTestEnvironment(1, addresses);
    fleet = createFleet(testEnvironment);
  }, 120_000);
  afterAll(async () => {
    await fleet.stop();
    await testEnvironment.close();
    await second.stop();
    await first.stop();
    await rm(folder.path, { recursive: true, force: true });
    await folder.release();
  }, 120_000);

  const topic = (kind: Kind) => topicOf(kind, testEnvironment.config.TOPIC_PREFIX);
  /** The producer of the test environment drops records of a partition that was added after it connected. */
  const publish = async (kind: Kind, id: string, partition: number) => {
    const producer = testEnvironment.kafka.producer();
    await producer.connect();
    const messages = [{ ...encode(created(kind, id), 'binary'), partition }];
    await producer.send({ topic: topic(kind), messages });
    await producer.disconnect();
  };
  const isStored = async (kind: Kind, id: string) =>
    (await collectionOf(testEnvironment.database, kind).findOne({ _id: id })) !== null;

  test('holds up no other partition, and is applied once it has one', async () => {
    // given the offsets of the group on the first broker, and a partition of the tags on a second broker
    const projector = fleet.add();
    await publish('tag', 'tag_1', 0);
    await applied(testEnvironment, fleet.fatal);
    await fleet.leave(projector);
    second = await startSecondBroker(join(folder.path, 'two'), { ...ports, broker: secondPort });
    const { admin } = testEnvironment;
    await eventually(async () => (await admin.describeCluster()).brokers.length === 2);
    await admin.createPartitions({
      topicPartitions: [{ topic: topic('tag'), count: 2, assignments: [[2]] }],
    });
    await untilLed(admin, [topic('tag')]);
    await publish('tag', 'tag_2', 1);
    // when the second broker is killed, and a projector starts
    await second.kill('SIGKILL');
    // A request to the broker that was killed fails.
    const clusterSize = () =>
      admin.describeCluster().then(
        ({ brokers }) => brokers.length,
        () => 0,
      );
    await eventually(async () => (await clusterSize()) === 1);
    fleet.add();
    await publish('contact', 'con_1', 0);
    await publish('tag', 'tag_3', 0);
    // then it applies every other partition
    await eventually(
      async () => (await isStored('contact', 'con_1')) && isStored('tag', 'tag_3'),
      fleet.fatal,
    );
    expect(await isStored('tag', 'tag_2')).toBe(false);
    // and this one when its broker is back
    await second.restart();
    await eventually(() => isStored('tag', 'tag_2'), fleet.fatal);
  }, 180_000);
});
