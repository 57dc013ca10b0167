import kafkajs from 'kafkajs';
import { readControlId } from '../../shared/control/control-id.ts';
import { type Generation, groupIdOf } from '../../shared/control/generations.ts';
import { readProgress } from '../../shared/control/progress.ts';
import { classify, explained, isTransient } from '../../shared/kafka/errors.ts';
import { type Member, readMembers } from '../../shared/kafka/group-members.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';
import type { OwnMembership } from '../../shared/kafka/member-metadata.ts';
import { followedTopics } from '../../shared/kafka/other-topics.ts';
import { readTopicSettings, type TopicSettings } from '../../shared/kafka/topic-settings.ts';
import { prefixesOf } from '../../shared/kafka/topics.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { within } from '../../shared/runtime/within.ts';
import type { OperatorDeps } from './deps.ts';

/** The part that Kafka answers; null for each part that it did not answer in time. */
export type KafkaFacts = {
  /** Why a part is missing. */
  problem: string | null;
  /** The topics that do not exist. */
  missing: string[];
  /** The topics that the Kafka user may not see, or that do not exist. */
  hidden: string[];
  /** If Kafka shows none of the topics: the prefixes under which all of them exist. */
  otherPrefixes: string[];
  log: LogState | null;
  settings: TopicSettings[] | null;
  /** Why the settings are missing although Kafka answers. */
  settingsProblem: string | null;
  /** The members of each generation's group, by number. */
  members: Map<number, Member[]>;
};

/** The fix for an outage that does not name its own. */
const ifDown = 'If the brokers are down, restore them: the projectors continue by themselves';

/** Gives the clients of Kafka to `work`, connected. */
export type UseKafka = (
  work: (clients: Pick<OperatorDeps, 'admin' | 'log'>) => Promise<void>,
) => Promise<void>;

/** Reads the part that Kafka answers, about the generations that are not dropped. Never rejects for Kafka. */
export async function readKafka(
  deps: Pick<OperatorDeps, 'control' | 'config' | 'topics'>,
  useKafka: UseKafka,
  living: Generation[],
  withinMs: number,
): Promise<KafkaFacts> {
  const facts: KafkaFacts = {
    problem: null,
    missing: [],
    hidden: [],
    otherPrefixes: [],
    log: null,
    settings: null,
    settingsProblem: null,
    members: new Map(),
  };
  const fail = (error: unknown): void => {
    const isOutage = isTransient(error) && classify(error).fix === null;
    facts.problem ??= isOutage ? `${errorMessage(error)}. ${ifDown}` : explained(error);
  };
  const memberships = await readMemberships(deps, living);
  const reading = useKafka(async ({ admin, log }) => {
    const { missing, hidden } = await log.find(deps.topics);
    const topics = deps.topics.filter((topic) => ![...missing, ...hidden].includes(topic));
    if (topics.length === 0) facts.otherPrefixes = prefixesOf(new Set(await admin.listTopics()));
    facts.missing = missing;
    facts.hidden = hidden;
    await Promise.all([
      log.read(topics).then((state) => (facts.log = state), fail),
      readTopicSettings(admin, topics).then(
        (settings) => (facts.settings = settings),
        (error: unknown) => (facts.settingsProblem = errorMessage(error)),
      ),
      ...memberships.map((own) => {
        const { generation } = own.followed;
        return readMembers(admin, groupIdOf(deps.config, generation), own).then(
          (members) => facts.members.set(generation, members),
          // Without Kafka's right Describe on the group its members are unknown.
          () => undefined,
        );
      }),
    ]);
  }).catch(fail);
  const silence = new kafkajs.KafkaJSConnectionError(`no answer for ${withinMs / 1_000} s`);
  await within(withinMs, reading, () => fail(silence));
  // A copy: later answers belong to no reading.
  return { ...facts, members: new Map(facts.members) };
}

/**
 * The membership of each generation's projectors. Their topics are the topics that the generation has followed: the
 * operator may have another TOPIC_PREFIX, of the next one.
 */
async function readMemberships(
  { control, config, topics }: Pick<OperatorDeps, 'control' | 'config' | 'topics'>,
  living: Generation[],
): Promise<OwnMembership[]> {
  const controlId = await readControlId(control);
  const database = config.DATABASE_NAME;
  return Promise.all(
    living.map(async ({ number: generation }) => ({
      followed: { controlId, database, generation },
      topics: followedTopics(await readProgress(control, generation)) ?? topics,
    })),
  );
}
