import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { ensureControlId } from '../../../shared/control/control-id.ts';
import { appliedTopicIds, progressOf, readProgress } from '../../../shared/control/progress.ts';
import { describeStrangers, inGroup, readMembers } from '../../../shared/kafka/group-members.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import type { OwnMembership } from '../../../shared/kafka/member-metadata.ts';
import { describeOtherTopics } from '../../../shared/kafka/other-topics.ts';
import type { JoiningMember } from '../../../shared/kafka/try-rights.ts';
import { type OnWait, StartRefused, waitUntil } from './wait-until.ts';

type Following = {
  control: Db;
  config: { DATABASE_NAME: string };
  generation: number;
  topics: string[];
  onWait: OnWait;
};

/**
 * Returns the projector's membership. Refuses a start on other topics than the generation has followed: their records
 * would be applied to documents of the former topics, and the progress of those would hold the watermark for good.
 */
export async function requireMembership({ control, config, generation, topics, onWait }: Following) {
  const recorded = await waitUntil(onWait, () => progressOf(control).find({ generation }).toArray());
  const otherTopics = describeOtherTopics(recorded, topics);
  if (otherTopics !== null) throw new StartRefused(`generation ${generation}: ${otherTopics}`);
  const controlId = await waitUntil(onWait, () => ensureControlId(control));
  const own: OwnMembership = { followed: { controlId, database: config.DATABASE_NAME, generation }, topics };
  return own;
}

/** Refuses a start whose member the group would not admit. */
export const refuseUnadmitted = (log: Pick<LogClient, 'tryJoin'>, member: JoiningMember, onWait: OnWait) =>
  waitUntil(onWait, () => log.tryJoin(member));

/**
 * Refuses a start beside members of the group that follow something else, before the group has to assign its partitions
 * again. While it does, it tells nothing of its members; `refuseStrangeLeader` then sees them.
 */
export async function refuseStrangers(admin: Admin, groupId: string, own: OwnMembership, onWait: OnWait) {
  const members = await waitUntil(onWait, () => inGroup(groupId, () => readMembers(admin, groupId, own)));
  const strangers = describeStrangers(members);
  if (strangers !== null) throw new StartRefused(`${groupId} (CONSUMER_GROUP): ${strangers}`);
}

/**
 * Refuses a start on another Kafka cluster than the generation has followed: none of its topics has the id of the topic
 * that was applied. Nothing is stored, because the projectors of the right cluster go on.
 */
export async function refuseOtherCluster(
  { control, generation, topics, onWait }: Omit<Following, 'config'>,
  log: Pick<LogClient, 'read'>,
): Promise<void> {
  const { topicIds } = await waitUntil(onWait, () => log.read(topics));
  const progress = await waitUntil(onWait, () => readProgress(control, generation));
  const applied = [...appliedTopicIds(progress)].filter(([topic]) => topicIds.has(topic));
  const isOther = applied.every(([topic, topicId]) => topicIds.get(topic) !== topicId);
  if (applied.length < topicsMin || !isOther) return;
  throw new StartRefused(
    `generation ${generation} has applied topics of these names on another Kafka cluster (${applied.length} topics have other ` +
      'ids): check KAFKA_BROKERS and DATABASE_NAME. If all topics were created again, rebuild the read model into a new ' +
      'database (docs/rebuilding.md, Into a new database)',
  );
}

/** A single topic was rather created again. */
const topicsMin = 2;
