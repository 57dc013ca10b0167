import kafkajs from 'kafkajs';
import { readControlId } from '../../shared/control/control-id.ts';
import { type Generation, groupIdOf } from '../../shared/control/generations.ts';
import { classify, explained, isTransient } from '../../shared/kafka/errors.ts';
import { type Member, protocolOf, readMembers } from '../../shared/kafka/group-members.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';
import { readTopicSettings, type TopicSettings } from '../../shared/kafka/topic-settings.ts';
import { prefixesOf } from '../../shared/kafka/topics.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { within } from '../../shared/runtime/within.ts';
import type { OperatorDeps } from './deps.ts';

/** The answers of Kafka. A field is null if its answer did not come in time. */
export type KafkaFacts = {
  /** The reason for a missing answer; null if Kafka has answered. */
  problem: string | null;
  /** The topics that do not exist. */
  missing: string[];
  /** The topics that the Kafka user may not see, or that do not exist. */
  hidden: string[];
  /** If Kafka shows none of the topics: the prefixes under which the topics of most kinds exist. */
  otherPrefixes: string[];
  log: LogState | null;
  settings: TopicSettings[] | null;
  /** The reason for missing settings although Kafka answers. */
  settingsProblem: string | null;
  /** The members of each generation's group, by number. */
  members: Map<number, Member[]>;
};

/** The fix for an outage whose error names no fix. */
const outageFix = 'If the brokers are down, restore them: the projectors continue by themselves';

/** Connects the clients of Kafka, unless they are connected, and calls `work` with them. */
export type UseKafka = (work: (clients: Clients) => Promise<void>) => Promise<void>;

type Clients = Pick<OperatorDeps, 'admin' | 'log'>;

/** Reads the facts that Kafka knows. It never rejects because of Kafka: `problem` then has the reason. */
export async function readKafka(
  deps: Pick<OperatorDeps, 'control' | 'config' | 'topics'>,
  useKafka: UseKafka,
  generations: Generation[],
  timeoutMs: number,
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
    facts.problem ??= isOutage ? `${errorMessage(error)}. ${outageFix}` : explained(error);
  };
  const controlId = await readControlId(deps.control);
  const readLog = async (log: Clients['log'], topics: string[]): Promise<void> => {
    try {
      facts.log = await log.read(topics);
    } catch (error) {
      fail(error);
    }
  };
  const readSettings = async (admin: Clients['admin'], topics: string[]): Promise<void> => {
    try {
      facts.settings = await readTopicSettings(admin, topics);
    } catch (error) {
      facts.settingsProblem = errorMessage(error);
    }
  };
  const readGroup = async (admin: Clients['admin'], generation: number): Promise<void> => {
    const protocol = protocolOf({ controlId, database: deps.config.DATABASE_NAME, generation });
    try {
      facts.members.set(generation, await readMembers(admin, groupIdOf(deps.config, generation), protocol));
    } catch {
      // Without the right Describe on the group, Kafka does not name its members.
    }
  };
  const reading = useKafka(async ({ admin, log }) => {
    const { missing, hidden } = await log.find(deps.topics);
    const topics = deps.topics.filter((topic) => !missing.includes(topic) && !hidden.includes(topic));
    if (topics.length === 0) facts.otherPrefixes = prefixesOf(await admin.listTopics());
    facts.missing = missing;
    facts.hidden = hidden;
    await Promise.all([
      readLog(log, topics),
      readSettings(admin, topics),
      ...generations.map(({ number }) => readGroup(admin, number)),
    ]);
  }).catch(fail);
  const silence = new kafkajs.KafkaJSConnectionError(`no answer for ${timeoutMs / 1_000} s`);
  await within(timeoutMs, reading, () => fail(silence));
  // A copy, because answers after the time limit still change the original.
  return { ...facts, members: new Map(facts.members) };
}
