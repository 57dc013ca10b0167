import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareBroker } from '../../infra/dev-servers/native/kafka.ts';
import type { KafkaNode } from '../../infra/dev-servers/native/kafka-settings.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { type Server, startServer } from '../../infra/dev-servers/native/server.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { awaitLeaders } from '../../services/operations/topics/create-topics.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { patchKafkajs } from '../../shared/kafka/kafkajs-patch.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { observed, stuckMs } from '../support/observed.ts';
import { useProjector } from '../support/use-projector.ts';

/** Starts a broker as node 2 of a cluster whose only controller is the controller of `first`. */
const startSecondBroker = (dir: string, first: KafkaNode, port: number): Promise<Server> => {
  const settings = { 'process.roles': 'broker', listeners: `PLAINTEXT://127.0.0.1:${port}` };
  const second = { ...first, id: 2, broker: port };
  return startServer([prepareBroker(dir, second, { nodes: [first], settings })]);
};

describe('a projector whose partitions are led by two brokers', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let firstNode: KafkaNode;
  let secondPort: number;
  let first: Server;
  let second: Server;
  beforeAll(async () => {
    // The test's own clients must also work while this partition has no leader.
    patchKafkajs();
    folder = await temporaryFolder('support-read-models-faults-');
    const [firstPort = 0, controllerPort = 0, freePort = 0] = await freePorts(3);
    firstNode = { id: 1, broker: firstPort, controller: controllerPort };
    secondPort = freePort;
    for (const name of ['first', 'second']) mkdirSync(join(folder.path, name));
    first = await startServer([prepareBroker(join(folder.path, 'first'), firstNode)]);
  });
  const { environment, topic, applied, fatal, sendToAdded, find, startProcess, start } = useProjector({
    projectors: 0,
    servers: () => ({
      KAFKA_BROKERS: `127.0.0.1:${firstNode.broker}`,
      MONGODB_URL: process.env.MONGODB_URL ?? '',
    }),
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
    await folder.remove();
  });

  const publish = (kind: Kind, id: string, partition: number) =>
    sendToAdded(kind, { ...encode(created(kind, id), 'binary'), partition });
  const isStored = async (kind: Kind, id: string) => (await find(kind, id)) !== null;
  /** Waits until the second broker has left the cluster. A request to a broker that was killed fails. */
  const untilAlone = () =>
    eventually(() =>
      environment.admin.describeCluster().then(
        ({ brokers }) => brokers.length === 1,
        () => false,
      ),
    );

  test('applies the other partitions while one has no leader', async () => {
    // given the offsets of the group on the first broker, and a partition of the tags on a second broker
    const projector = startProcess();
    await publish('tag', 'tag_1', 0);
    await applied();
    expect(await projector.stop()).toBe(0);
    second = await startSecondBroker(join(folder.path, 'second'), firstNode, secondPort);
    const { admin } = environment;
    await eventually(async () => (await admin.describeCluster()).brokers.length === 2);
    await admin.createPartitions({
      topicPartitions: [{ topic: topic('tag'), count: 2, assignments: [[2]] }],
    });
    await awaitLeaders(admin, [topic('tag')]);
    await publish('tag', 'tag_2', 1);
    // when the second broker is killed, and a projector starts
    await second.kill();
    await untilAlone();
    let aheadMs = 0;
    const { livenessFailure, stop } = await start({ nowMs: () => performance.now() + aheadMs });
    await publish('contact', 'con_1', 0);
    await publish('tag', 'tag_3', 0);
    // then it applies every other partition
    await eventually(async () => (await isStored('contact', 'con_1')) && isStored('tag', 'tag_3'), fatal);
    expect(await isStored('tag', 'tag_2')).toBe(false);
    // then the projector stays alive however long the partition waits
    await observed(environment.control);
    // This moves the projector's clock past the stuck limit.
    aheadMs += stuckMs;
    await observed(environment.control);
    expect(livenessFailure()).toBeNull();
    // then it applies the waiting partition once the second broker is back
    await second.restart();
    await eventually(() => isStored('tag', 'tag_2'), fatal);
    await stop();
  });

  /** Moves the first partition of the contacts to a broker. */
  const moveContacts = async (broker: number) => {
    const moved = [{ topic: topic('contact'), partitionAssignment: [{ partition: 0, replicas: [broker] }] }];
    await environment.admin.alterPartitionReassignments({ topics: moved });
    await eventually(async () => {
      const { topics } = await environment.admin.fetchTopicMetadata({ topics: [topic('contact')] });
      return topics[0]?.partitions[0]?.leader === broker;
    });
  };

  test('neither joins its group again nor loses a record if a partition moves to the other broker', async () => {
    // given a projector that reads the contacts from the first broker; with many partitions, the topic has several
    // entries in nearly each fetch
    const { admin } = environment;
    const assignments = Array.from({ length: 11 }, () => [1]);
    await admin.createPartitions({ topicPartitions: [{ topic: topic('contact'), count: 12, assignments }] });
    await awaitLeaders(admin, [topic('contact')]);
    const projector = startProcess();
    await publish('contact', 'con_before', 0);
    await eventually(() => isStored('contact', 'con_before'));
    const joins = () => projector.log.filter(({ msg }) => msg === 'joined the group').length;
    const joinsBefore = joins();
    for (let move = 0; move < 6; move += 1) {
      // when the partition moves to the other broker
      await moveContacts(move % 2 === 0 ? 2 : 1);
      // then the projector reads the next record from there
      await publish('contact', `con_${move}`, 0);
      await eventually(() => isStored('contact', `con_${move}`));
    }
    expect(joins()).toBe(joinsBefore);
    expect(await projector.stop()).toBe(0);
  });
});
