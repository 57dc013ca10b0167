import type { Db } from 'mongodb';
import { ensureControlId, readControlId } from '../../../shared/control/control-id.ts';
import type { Generation } from '../../../shared/control/generations.ts';
import { appliedTopicIds, progressOf, readProgress } from '../../../shared/control/progress.ts';
import { protocolOf } from '../../../shared/kafka/group-members.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import { describeOtherTopics } from '../../../shared/kafka/other-topics.ts';
import { StartRefused } from './wait-until.ts';

type ProtocolDeps = {
  control: Db;
  config: { DATABASE_NAME: string };
  registered: Generation;
  topics: string[];
  /** A trial makes no id of the control database. */
  isTrial: boolean;
};

/**
 * Returns the protocol by which the projector joins its group. Refuses a start on other topics than the generation has
 * followed. The projector would apply their records to documents of the former topics. The progress of those topics
 * would then hold back the watermark forever.
 */
export async function openProtocol(deps: ProtocolDeps): Promise<string> {
  const { control, config, registered, topics, isTrial } = deps;
  const generation = registered.number;
  const recorded = await progressOf(control).find({ generation }).toArray();
  const otherTopics = describeOtherTopics(recorded, topics);
  if (otherTopics !== null) throw new StartRefused(`generation ${generation}: ${otherTopics}`);
  const controlId = await (isTrial ? readControlId(control) : ensureControlId(control));
  return protocolOf({ controlId, database: config.DATABASE_NAME, generation });
}

type ClusterDeps = { control: Db; generation: number; topics: string[] };

/** With one topic, a topic that was created again is more likely than another cluster. */
const topicsMin = 2;

/**
 * Refuses a start on another Kafka cluster. There, every topic that the generation has applied has another id. Unlike a
 * gap, the refusal is not stored, because the projectors on the right cluster must continue.
 */
export async function refuseOtherCluster(
  { control, generation, topics }: ClusterDeps,
  log: Pick<LogClient, 'read'>,
): Promise<void> {
  const { topicIds: currentIds } = await log.read(topics);
  const appliedIds = appliedTopicIds(await readProgress(control, generation));
  const appliedTopics = [...appliedIds.keys()].filter((topic) => currentIds.has(topic));
  const isSameCluster = appliedTopics.some((topic) => currentIds.get(topic) === appliedIds.get(topic));
  if (isSameCluster || appliedTopics.length < topicsMin) return;
  throw new StartRefused(
    `generation ${generation} has applied topics of these names on another Kafka cluster (${appliedTopics.length} topics have other ` +
      'ids): check KAFKA_BROKERS and DATABASE_NAME. If all topics were created again, rebuild the read model into a new ' +
      'database (docs/rebuilding.md, Into a new database)',
  );
}
