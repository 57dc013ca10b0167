import { setTimeout as sleep } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import { pino } from 'pino';
import type { Service } from '../../infra/service.ts';
import { type CreatedKey, createKey } from '../../services/operations/keys/create-key.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { createPublisher, type Publisher } from '../convergence/publisher.ts';
import type { Event } from '../support/events.ts';
import { untilInSync, useKafkaCluster } from '../support/kafka-cluster.ts';
import { createRandom } from '../support/random.ts';
import { useProjector } from '../support/use-projector.ts';
import { expectConverged } from './oracle.ts';
import { readLog } from './read-log.ts';
import { seed, shortSession } from './use-fault-servers.ts';

/** The interval between two rounds of traffic during a fault. */
const roundMs = 150;
const eventsPerRound = 10;
/** The average number of rounds of traffic between two kills of a projector. */
const roundsPerKill = 25;

/**
 * Three brokers that the tests of a `describe` may kill, with topics, databases and a publisher for each test. Each
 * request contains records of one partition: kafkajs loses records of a larger request if a leader moves meanwhile.
 */
export function useBrokerFaults() {
  const cluster = useKafkaCluster();
  const projector = useProjector({
    // More partitions than brokers, so a broker leads several partitions of a topic, and one fetch reads them.
    partitions: 6,
    each: true,
    projectors: 0,
    servers: () => ({ KAFKA_BROKERS: cluster.brokers, MONGODB_URL: process.env.MONGODB_URL ?? '' }),
  });
  const { environment, applied } = projector;
  const members: Service[] = [];
  /** The events of this test beside the traffic. */
  let counts = { keysUnconfirmed: 0, kills: 0 };
  let confirmedKeys: string[] = [];
  let publisher: Publisher;
  let keyProducer: Producer;
  beforeEach(async () => {
    counts = { keysUnconfirmed: 0, kills: 0 };
    confirmedKeys = [];
    publisher = await createPublisher(environment, seed);
    // Connects a producer as the CLI does.
    const kafka = createKafka(environment.config, pino({ level: 'silent' }));
    keyProducer = kafka.producer({ allowAutoTopicCreation: false });
    await keyProducer.connect();
  });
  afterEach(async () => {
    members.splice(0);
    await publisher[Symbol.asyncDispose]();
    await keyProducer.disconnect();
  });

  const start = () => {
    const member = projector.startProcess(shortSession);
    members.push(member);
    return member;
  };
  const publishKey = async () => {
    const deps = { producer: keyProducer, topicPrefix: environment.config.TOPIC_PREFIX, keyPrefix: 'key' };
    let id = '';
    const onCreated = async (key: CreatedKey) => {
      id = key.id;
    };
    try {
      await createKey(deps, { orgId: `org_${seed}_0`, name: 'during a fault', mode: 'test' }, onCreated);
      confirmedKeys.push(id);
    } catch {
      counts.keysUnconfirmed += 1;
    }
  };
  const random = createRandom(seed);
  const killOne = async () => {
    const [victim] = members.splice(random.int(members.length), 1);
    await victim?.stop('SIGKILL');
    counts.kills += 1;
    start();
  };

  return {
    ...projector,
    cluster,
    start,
    publish: (events: Event[]) => publisher.publish(events),
    /** Publishes and kills projectors while the fault lasts. Resolves when all replicas are in sync after the fault. */
    publishUnder: async (name: string, history: Event[], fault: () => Promise<unknown>): Promise<void> => {
      const startMs = performance.now();
      let isOver = false;
      const faultUntilInSync = async () => {
        try {
          await fault();
          await untilInSync(cluster);
        } finally {
          isOver = true;
        }
      };
      const traffic = async () => {
        while (!isOver) {
          await publisher.publish(history.splice(0, eventsPerRound));
          await publishKey();
          if (random.int(roundsPerKill) === 0) await killOne();
          await sleep(roundMs);
        }
      };
      await Promise.all([faultUntilInSync(), traffic()]);
      const seconds = (performance.now() - startMs) / 1_000;
      print(`${name}: ${seconds.toFixed(1)} s`);
    },
    /** Compares MongoDB with the log, and checks that the log contains each record and key that a broker confirmed. */
    expectConverged: async () => {
      await applied();
      // The test has stopped projectors, but none has failed.
      expect(projector.fatal()).toEqual([]);
      const compared = await expectConverged(environment, seed, publisher.acknowledged);
      const log = await readLog(environment);
      const loggedIds = new Set(log.map(({ event }) => event?.id));
      expect(confirmedKeys.filter((id) => !loggedIds.has(id))).toEqual([]);
      const published = publisher.acknowledged.length;
      const keysConfirmed = confirmedKeys.length;
      print(JSON.stringify({ published, keysConfirmed, ...counts, ...compared }));
    },
  };
}

const print = (line: string) => process.stdout.write(`${line}\n`);
