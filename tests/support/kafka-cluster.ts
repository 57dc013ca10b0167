import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Admin, ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';
import { kafkaDir, prepareBroker } from '../../infra/dev-servers/native/kafka.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { type Server, startServer } from '../../infra/dev-servers/native/server.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { patchKafkajs } from '../../shared/kafka/kafkajs-patch.ts';
import { eventually, notYet } from './eventually.ts';
import { useOpened } from './use-opened.ts';

/** A node of a cluster, broker and controller. A test may kill, stop, pause and restart it. */
export type ClusterNode = Server & {
  id: number;
  /** Holds its data and its log. */
  dir: string;
};

/** Three nodes. Each partition is on all of them by default, and takes records while two of them are in sync. */
export type Cluster = {
  /** As `KAFKA_BROKERS`. */
  brokers: string;
  nodes: ClusterNode[];
  node: (id: number) => ClusterNode;
  admin: Admin;
  stop: () => Promise<void>;
};

/** A partition as a broker describes it: node ids; the leader is -1 while the partition has no leader. */
export type Placement = {
  topic: string;
  partition: number;
  leader: number;
  replicas: number[];
  inSync: number[];
};

/** The usual settings of three nodes in production. `brokerSettings` adds that a node silent for 3 s has left. */
const settings = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'transaction.state.log.min.isr': '2',
};

/** Starts three nodes, with their data and logs in folders of `dir`. Kafka must be installed already. */
export async function startKafkaCluster(dir: string): Promise<Cluster> {
  // Without the patch the test's own clients would fail while a partition has no leader.
  patchKafkajs();
  const ids = [1, 2, 3];
  const ports = await freePorts(2 * ids.length);
  const layout = ids.map((id) => ({ id, broker: ports[id - 1] ?? 0, controller: ports[id + 2] ?? 0 }));
  const nodes = await Promise.all(
    layout.map(async (node) => {
      const folder = join(dir, `kafka-${node.id}`);
      mkdirSync(folder, { recursive: true });
      const server = await startServer([prepareBroker(folder, node, { nodes: layout, settings })]);
      return { id: node.id, dir: folder, ...server };
    }),
  );
  const brokers = layout.map(({ broker }) => `127.0.0.1:${broker}`);
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  return {
    brokers: brokers.join(),
    nodes,
    node: (id) => nodes.find((node) => node.id === id) as ClusterNode,
    admin,
    stop: async () => {
      await admin.disconnect();
      await Promise.all(nodes.map((node) => node.kill()));
    },
  };
}

/**
 * A cluster for the tests of a `describe`, in a temporary folder. Its fields exist once a test or a later hook runs.
 */
export const useKafkaCluster = (): Cluster =>
  useOpened(async () => {
    const { path, remove } = await temporaryFolder('support-read-models-cluster-');
    const cluster = await startKafkaCluster(path);
    const close = async () => {
      await cluster.stop();
      await remove();
    };
    return { ...cluster, close };
  });

/** Returns the placements of the partitions, by default of all topics. Rejects while no broker answers. */
export async function placements({ admin }: Cluster, topics?: string[]): Promise<Placement[]> {
  const metadata = await admin.fetchTopicMetadata(topics ? { topics } : undefined);
  return metadata.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionId, leader, replicas, isr }) => ({
      topic: name,
      partition: partitionId,
      leader,
      replicas,
      inSync: isr,
    })),
  );
}

/** Resolves once every partition meets the condition. Repeats failed requests until then. */
export const untilPlaced = (
  cluster: Cluster,
  isPlaced: (placement: Placement) => boolean,
  topics?: string[],
): Promise<void> =>
  eventually(() =>
    placements(cluster, topics).then(
      (all) => all.every(isPlaced) || notYet(all.filter((placement) => !isPlaced(placement))),
      notYet,
    ),
  );

/** Resolves once each partition has a leader, and all its replicas are in sync. */
export const untilInSync = (cluster: Cluster): Promise<void> =>
  untilPlaced(cluster, ({ leader, replicas, inSync }) => leader >= 0 && inSync.length === replicas.length);

/** Resolves once the node leads no partition, and is not an in-sync replica of any partition. */
export const untilOut = (cluster: Cluster, id: number): Promise<void> =>
  untilPlaced(cluster, ({ leader, inSync }) => leader !== id && !inSync.includes(id));

/**
 * Moves each partition to the nodes that `choose` names, the preferred leader first. Resolves once all are there, in
 * sync.
 */
export async function reassign(
  cluster: Cluster,
  choose: (placement: Placement) => number[],
  topics?: string[],
): Promise<void> {
  const found = await placements(cluster, topics);
  const byTopic = Map.groupBy(found, ({ topic }) => topic);
  const wanted = [...byTopic].map(([topic, ofTopic]) => ({
    topic,
    partitionAssignment: ofTopic.map((placement) => ({
      partition: placement.partition,
      replicas: choose(placement),
    })),
  }));
  await cluster.admin.alterPartitionReassignments({ topics: wanted });
  const replicasOf = new Map(
    found.map((placement) => [`${placement.topic}/${placement.partition}`, choose(placement).join()]),
  );
  await untilPlaced(
    cluster,
    ({ topic, partition, replicas, inSync }) =>
      replicas.join() === replicasOf.get(`${topic}/${partition}`) && inSync.length === replicas.length,
    topics,
  );
}

/** Runs a command of Kafka's own tools against the cluster. Resolves with its output. */
export const kafkaTool = ({ brokers }: Cluster, command: string, ...args: string[]): Promise<string> =>
  mustRun('java', [
    ...['-Xmx128m', '-cp', join(kafkaDir(), 'libs', '*'), command],
    ...['--bootstrap-server', brokers, ...args],
  ]);

/** Makes the first replica of every partition its leader. */
export async function electPreferredLeaders(cluster: Cluster): Promise<void> {
  const options = ['--election-type', 'preferred', '--all-topic-partitions'];
  await kafkaTool(cluster, 'org.apache.kafka.tools.LeaderElectionCommand', ...options);
  await untilPlaced(cluster, ({ leader, replicas }) => leader === replicas[0]);
}

/** A log that has diverged in an unclean election. */
export type DivergedLog = {
  /** The log's end before the election: the records from `divergedAt` up to here are lost. */
  endBefore: number;
  /** The log's end after the election. */
  divergedAt: number;
  epochBefore: number;
  epochAfter: number;
  /** The former leader, which has been killed. Once it starts, it drops the records that the new leader lacks. */
  former: ClusterNode;
  leader: ClusterNode;
};

/**
 * Makes the log of a partition diverge in an unclean leader election, which `unclean.leader.election.enable` allows.
 * The partition then has two replicas. It kills the follower and calls `publish`, so only the leader has those records.
 * `publish` must resolve once the projectors have applied them. Then it kills the leader and restarts the follower,
 * which the controller elects.
 */
export async function uncleanElection(
  cluster: Cluster,
  { topic, partition, publish }: { topic: string; partition: number; publish: () => Promise<unknown> },
): Promise<DivergedLog> {
  const readPlacement = async () =>
    (await placements(cluster, [topic])).find((placement) => placement.partition === partition) as Placement;
  const isThis = (placement: Placement) => placement.partition === partition;
  const readEnd = async () => {
    const offsets = await cluster.admin.fetchTopicOffsets(topic);
    return Number(offsets.find((offset) => offset.partition === partition)?.high);
  };
  // given two replicas, of which only the leader takes records
  const { leader: leaderId, replicas } = await readPlacement();
  const followerId = replicas.find((id) => id !== leaderId) ?? 0;
  await alterTopic(cluster, topic, { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' });
  await reassign(cluster, (placement) => (isThis(placement) ? [leaderId, followerId] : placement.replicas), [
    topic,
  ]);
  const former = cluster.node(leaderId);
  const leader = cluster.node(followerId);
  await leader.kill();
  await untilPlaced(
    cluster,
    (placement) => !isThis(placement) || placement.inSync.join() === String(leaderId),
    [topic],
  );
  await publish();
  const endBefore = await readEnd();
  const epochBefore = latestEpoch(former, topic, partition);
  // when the leader is gone, and the follower is back
  await former.kill();
  await leader.restart();
  await untilPlaced(cluster, (placement) => !isThis(placement) || placement.leader === followerId, [topic]);
  const isElected = () => latestEpoch(leader, topic, partition) > epochBefore;
  await eventually(isElected);
  const divergedAt = await readEnd();
  const epochAfter = latestEpoch(leader, topic, partition);
  return { endBefore, divergedAt, epochBefore, epochAfter, former, leader };
}

/** The epoch of the latest leader that the node has recorded for a partition. */
function latestEpoch({ dir }: ClusterNode, topic: string, partition: number): number {
  const file = join(dir, 'data', `${topic}-${partition}`, 'leader-epoch-checkpoint');
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  // After two lines of its format, each line has an epoch and its first offset.
  return Number(lines.slice(2).at(-1)?.split(' ')[0] ?? -1);
}

/** Changes some settings of a topic. It sends the topic's other settings again: the request would reset them. */
export async function alterTopic({ admin }: Cluster, topic: string, changes: Record<string, string>) {
  const type = ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type, name: topic }],
  });
  const ownSource = 1;
  const topicEntries = (resources[0]?.configEntries ?? []).filter(
    ({ configSource }) => (configSource as number) === ownSource,
  );
  const entries = {
    ...Object.fromEntries(topicEntries.map(({ configName, configValue }) => [configName, configValue])),
    ...changes,
  };
  const configEntries = Object.entries(entries).map(([name, value]) => ({ name, value }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name: topic, configEntries }] });
}
