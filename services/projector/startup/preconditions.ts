import type { Db, MongoClient } from 'mongodb';
import { type Generation, groupIdOf } from '../../../shared/control/generations.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import type { Brokers } from '../../../shared/kafka/brokers.ts';
import {
  explainRefusal,
  GroupTaken,
  inGroup,
  isJoinedByConsumerProtocol,
  joinedByConsumerProtocol,
} from '../../../shared/kafka/group-members.ts';
import { topicsRefused } from '../../../shared/kafka/protocol-errors.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { preconditionsOf } from '../../../shared/runtime/preconditions.ts';
import { controlDatabase, generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import { readHello } from '../../../shared/store/hello.ts';
import type { ProjectorConfig } from '../config.ts';
import { refuseGaps } from '../generations/ending.ts';
import { checkProgress } from './check-progress.ts';
import { openIndexes, openRegistry } from './open-store.ts';
import { openProtocol, refuseOtherCluster } from './refuse.ts';
import { NotReady, type OnWait, StartRefused } from './wait-until.ts';

/*
 * The conditions of a projector's start. A start waits until each condition is met (`waitUntil`);
 * `support-cli check projector` tries each condition once.
 *
 *   connectStore, openModel    MongoDB, the generation, its indexes and progress
 *   connectBrokers             Kafka, and the topics
 *   enterGroup                 after both: the cluster, and the consumer group
 */

type DatabaseSetting = Pick<ProjectorConfig, 'DATABASE_NAME'>;

export type StoreDeps = {
  mongo: MongoClient;
  config: DatabaseSetting & Partial<Pick<ProjectorConfig, 'GENERATION'>>;
  /** The topics that the projector follows. */
  topics: string[];
  /** A trial creates nothing. A condition that it cannot try is not met. */
  isTrial: boolean;
  /** Receives each further condition that a start waits for. */
  onWait: OnWait;
  logger: Logger;
};

export type BrokerDeps = { brokers: Brokers; topics: string[]; isTrial: boolean };

/** The results of the conditions on MongoDB. */
export type OpenedModel = {
  control: Db;
  /** The documents of the generation. */
  database: Db;
  /** The generation as it was registered at the start. */
  registered: Generation;
  /** The protocol by which it joins its group. */
  protocol: string;
};

export type GroupDeps = OpenedModel &
  BrokerDeps & {
    config: Pick<ProjectorConfig, 'CONSUMER_GROUP' | 'DATABASE_NAME' | 'KAFKA_SESSION_TIMEOUT_MS'>;
  };

/** MongoDB answers. `connect` comes first, because an earlier command would close the driver's topology forever. */
export const connectStore = preconditionsOf<Pick<StoreDeps, 'mongo'> & { config: DatabaseSetting }>().and({
  name: 'MongoDB',
  setting: 'MONGODB_URL',
  run: async ({ mongo, config }) => {
    await mongo.connect();
    const control = controlDatabase(mongo, config.DATABASE_NAME);
    await readHello(control);
    return { control };
  },
  describe: () => 'answers',
});

/** The generation exists, and this projector may follow it and write its documents. */
export const openModel = preconditionsOf<StoreDeps & { control: Db }>()
  .and({
    name: 'read model',
    setting: 'DATABASE_NAME',
    run: async ({ mongo, control, config, isTrial }) => {
      const registered = await openRegistry(control, config.GENERATION, isTrial);
      return { registered, database: generationDatabase(mongo, config.DATABASE_NAME, registered.number) };
    },
    describe: ({ registered, config }) =>
      `generation ${registered.number} of ${config.DATABASE_NAME} is ${registered.state}`,
  })
  .and({
    name: 'rights',
    setting: 'MONGODB_URL',
    run: async ({ control, database }) => {
      await requireWritable(progressOf(control));
      await requireWritable(database.collection('preflight'));
      return {};
    },
    describe: () => 'may write progress and documents',
  })
  .and({
    name: 'indexes',
    setting: 'DATABASE_NAME',
    run: async (found) => {
      await openIndexes(found);
      return {};
    },
    describe: () => 'no index conflicts with a declared one',
  })
  .and({
    name: 'progress',
    setting: 'DATABASE_NAME',
    run: async (found) => {
      await checkProgress(found);
      return {};
    },
    describe: ({ registered }) => `generation ${registered.number} has its progress`,
  })
  .and({
    name: 'gaps',
    setting: 'DATABASE_NAME',
    run: async ({ control, registered }) => {
      await refuseGaps({ control, generation: registered.number });
      return {};
    },
    describe: ({ registered }) => `generation ${registered.number} has no gap that stops its projectors`,
  })
  .and({
    name: 'followed',
    setting: 'TOPIC_PREFIX',
    run: async (found) => ({ protocol: await openProtocol(found) }),
    describe: ({ registered }) => `generation ${registered.number} has followed no other topics`,
  });

/** The brokers answer. */
export const reachBrokers = preconditionsOf<BrokerDeps>().and({
  name: 'Kafka',
  setting: 'KAFKA_BROKERS',
  run: async ({ brokers }) => {
    await brokers.connect();
    return {};
  },
  describe: () => 'answers',
});

/** This projector may fetch from the topics. */
export const connectBrokers = reachBrokers
  .and({
    name: 'topics',
    setting: 'TOPIC_PREFIX',
    run: async ({ brokers, topics }) => {
      const { missing, hidden } = await brokers.log.find(topics);
      if (hidden.length > 0) throw topicsRefused(hidden);
      if (missing.length > 0) throw new NotReady(topicsMissing, `missing topics: ${missing.join(', ')}`);
      return {};
    },
    describe: ({ topics }) => counted(topics.length, 'topic'),
  })
  .and({
    name: 'records',
    setting: 'TOPIC_PREFIX',
    run: async ({ brokers, topics, isTrial }) => {
      const untried = [...(await brokers.log.tryFetch(topics))];
      // A start continues, because the consumer reads a topic without a leader once there is a leader.
      if (untried.length === 0 || !isTrial) return {};
      const reasons = untried.map(([topic, reason]) => `${topic} (${reason})`);
      throw new NotReady('topics cannot be read', `could not try to fetch from ${reasons.join(', ')}`);
    },
    describe: ({ topics }) => `may fetch from ${counted(topics.length, 'topic')}`,
  });

/** The generation has followed the same topics, and the group admits this projector. */
export const enterGroup = preconditionsOf<GroupDeps>()
  .and({
    name: 'cluster',
    setting: 'KAFKA_BROKERS',
    run: async ({ control, registered, topics, brokers }) => {
      await refuseOtherCluster({ control, generation: registered.number, topics }, brokers.log);
      return {};
    },
    describe: ({ registered }) => `generation ${registered.number} has followed no other Kafka cluster`,
  })
  .and({
    name: 'group',
    setting: 'CONSUMER_GROUP',
    run: async ({ config, registered, protocol, topics, brokers }) => {
      const { admin, log } = brokers;
      const groupId = groupIdOf(config, registered.number);
      // Waits until the coordinator has loaded the group. Before that, a broker that has just started refuses members.
      await inGroup(groupId, () => admin.fetchOffsets({ groupId, topics }));
      const member = { groupId, protocol, topics, sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS };
      await log.tryJoin(member).catch(async (error: Error) => {
        const refusal = await explainRefusal({ admin, groupId, protocol }, error);
        throw refusal instanceof GroupTaken ? new StartRefused(refusal.message) : refusal;
      });
      if (await isJoinedByConsumerProtocol(admin, groupId, (type) => log.tryJoin({ ...member, type })))
        throw new StartRefused(joinedByConsumerProtocol(groupId).message);
      return { groupId };
    },
    describe: ({ groupId }) => `may join ${groupId}, and read its offsets`,
  });

const topicsMissing = 'topics are missing; create them with: support-cli topics create';
