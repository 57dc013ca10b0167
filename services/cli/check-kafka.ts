import { describeHidden } from '../../shared/kafka/find-topics.ts';
import { describeStrangers, inGroup, readMembers } from '../../shared/kafka/group-members.ts';
import type { OwnMembership } from '../../shared/kafka/member-metadata.ts';
import { topicsRefused } from '../../shared/kafka/protocol-errors.ts';
import { readTopicSettings } from '../../shared/kafka/topic-settings.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { connectKafka, type Context, type KafkaClients, type KafkaConfig } from './context.ts';

/** Does the work of one line, which resolves with its detail. Returns whether it is well. */
export type Line = (name: string, work: () => Promise<string>) => Promise<boolean>;

/** A projector, as it joins its group. `own` is null if MongoDB does not answer. */
type Projector = { groupId: string; own: OwnMembership | null; sessionTimeoutMs: number };

/** Sends the requests of the role at work, without an effect: those of the CLI if `projector` is null. */
export async function checkKafka(
  line: Line,
  context: Context,
  config: KafkaConfig,
  projector: Projector | null,
): Promise<void> {
  const { clients, close } = connectKafka(context, config, config.KAFKA_BROKERS.length);
  const topics = topicsOf(config.TOPIC_PREFIX);
  try {
    const isConnected = await line('Kafka', async () => {
      const { brokers } = await (await clients).admin.describeCluster();
      return `KAFKA_BROKERS: ${counted(brokers.length, 'broker')}`;
    });
    if (!isConnected) return;
    const { admin, log } = await clients;
    const hasTopics = await line('topics', async () => {
      const { missing, hidden } = await log.find(topics);
      if (hidden.length > 0 && projector) {
        const cause = topicsRefused(hidden);
        throw new Error(`${cause.message}: check TOPIC_PREFIX, too`, { cause });
      }
      if (hidden.length > 0) throw new Error(`${describeHidden(hidden)}: check TOPIC_PREFIX`);
      if (missing.length > 0) throw new Error(`${missing.join(', ')} are missing: check TOPIC_PREFIX`);
      return `TOPIC_PREFIX: ${counted(topics.length, 'topic')} of ${config.TOPIC_PREFIX}`;
    });
    // kafkajs asks for a topic that does not exist again and again, even after its disconnect.
    if (!hasTopics) return;
    if (projector) await checkConsumer(line, await clients, topics, projector);
    else
      await line('settings', async () => {
        await readTopicSettings(admin, topics);
        return 'may read the configuration of the topics';
      });
  } finally {
    await close();
  }
}

async function checkConsumer(line: Line, clients: KafkaClients, topics: string[], projector: Projector) {
  const { admin, log } = clients;
  const { groupId, own, sessionTimeoutMs } = projector;
  await line('records', async () => {
    const untried = await log.tryFetch(topics);
    const reasons = [...untried].map(([topic, reason]) => `${topic} (${reason})`);
    if (reasons.length > 0) throw new Error(`could not try to fetch from ${reasons.join(', ')}`);
    return `TOPIC_PREFIX: may fetch from ${counted(topics.length, 'topic')}`;
  });
  await line('group', async () => {
    await inGroup(groupId, () => admin.fetchOffsets({ groupId, topics }));
    if (own === null)
      throw new Error(`could not try to join ${groupId}: MongoDB does not name its generation`);
    const strangers = describeStrangers(await inGroup(groupId, () => readMembers(admin, groupId, own)));
    if (strangers !== null) throw new Error(`${groupId} (CONSUMER_GROUP): ${strangers}`);
    await log.tryJoin({ groupId, own, sessionTimeoutMs });
    return `CONSUMER_GROUP: may join ${groupId}, and read its offsets`;
  });
}
