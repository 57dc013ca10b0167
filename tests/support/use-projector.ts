import { ConfigResourceTypes, type Producer, type ProducerConfig } from 'kafkajs';
import { type Service, startService } from '../../infra/service.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { untilEnforced } from './broker-changes.ts';
import { type StandingLetter, standingLetters } from './dead-letters.ts';
import type { Event, Produced } from './events.ts';
import { eventually } from './eventually.ts';
import { logEnds } from './progress.ts';
import { onceKafkaAnswers, runCli } from './run-cli.ts';
import {
  applied,
  createTestEnvironment,
  publish,
  runProjector,
  type Servers,
  type TestEnvironment,
} from './test-environment.ts';
import { useOpened } from './use-opened.ts';

type Options = {
  /** The number of partitions of each topic. */
  partitions?: number;
  /** Gives each test its own topics and databases. Otherwise the tests of a `describe` share them. */
  each?: boolean;
  /** The number of projectors that start at once, in this process. */
  projectors?: number;
  servers?: () => Servers;
};

type ProjectorOptions = Parameters<typeof runProjector>[1] & {
  settings?: Partial<TestEnvironment['config']>;
};
type Message = Omit<Produced, 'headers'> & {
  headers?: Produced['headers'];
  partition?: number;
  timestamp?: string;
};

/**
 * Topics, databases and projectors for the tests of a `describe`, and the steps that tests take on them. The fields of
 * `environment` exist once a test runs. A hook stops the projectors that the tests have left running.
 */
export function useProjector({
  partitions = 1,
  each = false,
  projectors = 1,
  servers = () => process.env,
}: Options = {}) {
  const running = new Set<Awaited<ReturnType<typeof runProjector>>>();
  /** The processes that no test has stopped. */
  const processes = new Set<Service>();
  const producers: Producer[] = [];
  const topic = (kind: Kind) => topicOf(kind, environment.config.TOPIC_PREFIX);
  const fatal = () => {
    const errors: Error[] = [];
    for (const projector of running) errors.push(...projector.fatal);
    for (const service of processes) errors.push(...service.failures());
    return errors;
  };

  const start = async ({ settings, ...options }: ProjectorOptions = {}) => {
    const config = { ...environment.config, ...settings };
    const projector = await runProjector({ config, topics: topicsOf(config.TOPIC_PREFIX) }, options);
    running.add(projector);
    const stop = async () => {
      if (running.delete(projector)) await projector.stop();
    };
    return { ...projector, stop };
  };
  const stop = async () => {
    for (const projector of running) await projector.stop();
    running.clear();
  };
  const startProcess = (settings: Record<string, string> = {}) => {
    const variables = { ...environment.variables, LOG_LEVEL: 'info', ...settings };
    const projector = startService('projector', variables);
    processes.add(projector);
    const stopProjector: Service['stop'] = (signal) => {
      processes.delete(projector);
      return projector.stop(signal);
    };
    return { ...projector, stop: stopProjector };
  };
  const send = (kind: Kind, ...messages: Message[]) =>
    environment.producer.send({ topic: topic(kind), messages });

  const connectAnotherProducer = async (options?: ProducerConfig) => {
    const producer = await connectProducer(environment, options);
    producers.push(producer);
    return producer;
  };
  const sendToAdded = async (kind: Kind, message: Message) => {
    for (let accepted = 0; accepted === 0;) {
      const producer = await connectAnotherProducer();
      accepted = (await producer.send({ topic: topic(kind), messages: [message] })).length;
    }
  };

  // Jest runs hooks in the order of their definition.
  const before = each ? beforeEach : beforeAll;
  const after = each ? afterEach : afterAll;
  after(async () => {
    await stop();
    await Promise.all([...processes].map((service) => service.stop('SIGKILL')));
    processes.clear();
    await Promise.all(producers.splice(0).map((producer) => producer.disconnect()));
  });
  const environment = useOpened(() => createTestEnvironment(partitions, servers()), { each });
  before(async () => {
    const starts = Array.from({ length: projectors }, () => start());
    await Promise.all(starts);
  });

  return {
    environment,
    topic,
    send,
    publish: (...events: Event[]) => publish(environment, events),
    /** Resolves once every record of the log is applied. */
    applied: () => applied(environment, fatal),
    find: (kind: Kind, id: string) =>
      collectionOf<StoredDocument>(environment.database, kind).findOne({ _id: id }),
    /** The dead letters that stand unapplied, in the order of the ledger. */
    deadLetters: async (matches: (letter: StandingLetter) => boolean = () => true) => {
      const letters = await standingLetters(environment.control);
      return letters.filter(matches);
    },
    /** The committed offsets of the topic's partitions, added up. */
    committed: (kind: Kind) => committedOffsets(environment, topic(kind)),
    /** Starts a projector in this process. `settings` override the settings of the environment. */
    start,
    stop,
    fatal,
    /** Starts a projector as a process. `applied` rejects if it ends before a test stops it. */
    startProcess,
    /** Connects another producer. With a `transactionalId`, it can open transactions. */
    connectProducer: connectAnotherProducer,
    /**
     * Sends a record to a partition that may have been added to its topic. kafkajs drops it, without an error, if the
     * broker that a producer has asked did not know the partition yet.
     */
    sendToAdded,
    cli: (...args: string[]) => runCli(environment.variables, args),
    /** The status of the read model, with the answers of Kafka. */
    status: async (...options: string[]) => {
      const { text } = await onceKafkaAnswers(() => runCli(environment.variables, ['status', ...options]));
      return text;
    },
    /** Deletes the records of the topic's first partition before an offset; -1 stands for the log's end. */
    deleteRecords: (kind: Kind, offset: number) => deleteRecords(environment, topic(kind), offset),
    /** Deletes the topic and creates it again, empty; by default with the same number of partitions. */
    recreateTopic: (kind: Kind, count = partitions) => recreateTopic(environment, topic(kind), count),
    alterTopic: (kind: Kind, settings: Record<string, string>) =>
      alterTopic(environment, topic(kind), settings),
  };
}

async function connectProducer({ kafka }: TestEnvironment, options: ProducerConfig = {}) {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
    idempotent: options.transactionalId !== undefined,
    // The longest that brokers accept: they abort a transaction that is open for longer.
    transactionTimeout: 900_000,
    ...options,
  });
  await producer.connect();
  return producer;
}

async function committedOffsets({ admin, config }: TestEnvironment, topic: string): Promise<number> {
  const groupId = config.CONSUMER_GROUP;
  const found = await admin.fetchOffsets({ groupId, topics: [topic] });
  let sum = 0;
  for (const { partitions } of found) {
    // Kafka answers -1 for a partition without a committed offset.
    for (const { offset } of partitions) sum += Math.max(0, Number(offset));
  }
  return sum;
}

async function deleteRecords(environment: TestEnvironment, topic: string, offset: number) {
  // Kafka refuses to delete records of a topic that is only compacted.
  await alterTopic(environment, topic, { 'cleanup.policy': 'compact,delete' });
  const deletedTo = [{ partition: 0, offset: String(offset) }];
  await environment.admin.deleteTopicRecords({ topic, partitions: deletedTo });
}

async function recreateTopic({ admin, config }: TestEnvironment, topic: string, partitions: number) {
  await admin.deleteTopics({ topics: [topic] });
  await eventually(async () => {
    const topics = await admin.listTopics();
    return !topics.includes(topic);
  });
  await createTopics(admin, config.TOPIC_PREFIX, { partitions });
  await logEnds(admin, [topic]);
}

async function alterTopic(
  { admin, config }: TestEnvironment,
  topic: string,
  settings: Record<string, string>,
) {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
  await admin.alterConfigs({ validateOnly: false, resources });
  await untilEnforced(config.KAFKA_BROKERS[0] ?? '');
}
