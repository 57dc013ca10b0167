import { errorMessage } from '../../shared/runtime/error-message.ts';
import { deadLettersOf, measureDeadLetters, type DeadLetterSize } from '../../shared/control/dead-letters.ts';
import { readNoMajoritySince } from '../../shared/store/majority.ts';
import { findBlocksMarker } from '../../shared/control/blocked-keys.ts';
import { failuresOf } from '../../shared/control/failures.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import {
  groupIdOf,
  readRegistry,
  type Generation,
  type GenerationRegistry,
} from '../../shared/control/generations.ts';
import {
  isSilent,
  lagSeconds,
  readProgress,
  watermarksOf,
  type Progress,
} from '../../shared/control/progress.ts';
import { readRemains, type Remainder } from '../../shared/control/remains.ts';
import { liveReplicas, type Replica } from '../../shared/control/replicas.ts';
import type { TokenKeys } from '../../shared/keys/token-keys.ts';
import { countAllCounted } from '../../shared/control/tallies.ts';
import { waitingProjectors, type WaitingProjector } from '../../shared/control/waiting-projectors.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { prefixesOf } from '../../shared/kafka/topics.ts';
import { readControlId } from '../../shared/control/control-id.ts';
import { describeOtherTopics } from '../../shared/kafka/other-topics.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';
import { explained } from '../../shared/kafka/remedies.ts';
import { readTopicSettings, type TopicSettings } from '../../shared/kafka/topic-settings.ts';
import { roomLimits, type RoomLimits } from '../projector/dead-letters/room.ts';
import { deadLettersMax, readOwnRejects } from './own-rejects.ts';
import { optional, type NotCounted } from './optional.ts';
import { readStructures } from './structures.ts';
import { measurePartitions, sumByTopic, type PartitionFacts } from './partitions.ts';
import type { OperatorDeps } from './deps.ts';
import { readSharedTokens } from './shared-tokens.ts';
import { within } from '../../shared/runtime/within.ts';
import { readMembers, type Member } from '../../shared/kafka/group-members.ts';

/** The part that Kafka answers; null for each part that it did not answer in time. */
type KafkaFacts = Awaited<ReturnType<typeof readKafka>>;

/** Everything that is known of a generation at one moment. */
export type GenerationFacts = Awaited<ReturnType<typeof readGeneration>>;

/** Everything that an operator is told about, read once. `findings` judges it. */
export type Facts = {
  now: Date;
  deployment: OperatorDeps['config']['DEPLOYMENT'];
  rebuildDaysMax: number;
  /** Null before a projector has first started, or if it was lost. */
  registry: GenerationRegistry | null;
  /** The remains of a read model without a registry; empty if there is a registry. */
  remains: Remainder[];
  /** Whether the collection of blocked keys has its marker. */
  hasBlocksMarker: boolean;
  /** The tokens of the active generation that are refused although an active key has them; null: not counted. */
  sharedTokens: TokenKeys[] | null;
  /** The generations that are not dropped. */
  generations: GenerationFacts[];
  kafka: KafkaFacts;
  replicas: Replica[];
  /** Since when a majority of MongoDB's members has confirmed no write; null if one does, or if MongoDB does not tell. */
  noMajoritySince: Date | null;
  /** The projectors that apply nothing, but say why; the latest first. */
  waiting: WaitingProjector[];
  /** The stored ones up to `deadLettersMax`, and all that are counted; null: not counted. */
  deadLetters: number | null;
  /** The size of the stored dead letters, and the limits above which further ones are stored in part, or counted. */
  deadLetterSize: DeadLetterSize | null;
  deadLetterLimits: RoomLimits;
  /** The parts that MongoDB refused to count. */
  notCounted: NotCounted[];
};

/** Kafka has this long for its part where facts are shown, in milliseconds. Then everything that lies in MongoDB is. */
const shownWithinMs = 3_000;
/** The same where a verb acts on the facts, so that a slow answer refuses no step. */
const actedWithinMs = 30_000;

/** Gives the clients of Kafka to `work`, connected. */
export type UseKafka = (
  work: (clients: Pick<OperatorDeps, 'admin' | 'log'>) => Promise<void>,
) => Promise<void>;

type FactDeps = Pick<OperatorDeps, 'control' | 'config' | 'topics' | 'now'>;

/** Reads the facts; `before` are earlier ones, for rates. */
export type ReadFacts = (before: Facts | null) => Promise<Facts>;

/** Reads the facts, to act on them, with connected clients of Kafka. `before` are earlier facts, for rates. */
export const factsNow = (deps: OperatorDeps, before: Facts | null = null): Promise<Facts> =>
  readFacts(deps, (work) => work(deps), before, actedWithinMs);

/** Reads the facts, to show them. Rejects only if MongoDB does not answer. */
export async function readFacts(
  deps: FactDeps,
  useKafka: UseKafka,
  before: Facts | null,
  kafkaWithinMs = shownWithinMs,
): Promise<Facts> {
  const { control, config } = deps;
  const registry = await readRegistry(control);
  const remains = registry ? [] : await readRemains(control);
  const living = registry?.generations.filter(({ state }) => state !== 'dropped') ?? [];
  const kafka = await readKafka(deps, useKafka, living, kafkaWithinMs);
  const now = await deps.now();
  const notCounted: NotCounted[] = [];
  const stored = () => deadLettersOf(control).countDocuments({}, { limit: deadLettersMax, hint: '_id_' });
  const read = await named({
    generations: Promise.all(
      living.map((one) => readGeneration(deps, { registry, kafka, now, before, notCounted }, one)),
    ),
    noMajoritySince: readNoMajoritySince(control),
    replicas: liveReplicas(control, now),
    waiting: waitingProjectors(control, now),
    storedDeadLetters: optional(notCounted, 'dead letters', stored),
    countedDeadLetters: optional(notCounted, 'counted dead letters', () => countAllCounted(control)),
    deadLetterSize: optional(notCounted, 'the size of the dead letters', () => measureDeadLetters(control)),
    hasBlocksMarker: findBlocksMarker(control),
    sharedTokens: optional(notCounted, 'tokens of several keys', () =>
      readSharedTokens(control, config.DATABASE_NAME, registry),
    ),
  });
  const { storedDeadLetters, countedDeadLetters, ...facts } = read;
  return {
    ...facts,
    now,
    deployment: config.DEPLOYMENT,
    rebuildDaysMax: config.REBUILD_DAYS_MAX,
    registry,
    remains,
    kafka,
    deadLetters:
      storedDeadLetters === null || countedDeadLetters === null
        ? null
        : storedDeadLetters + countedDeadLetters,
    deadLetterLimits: roomLimits(config),
    notCounted,
  };
}

/** Awaits the values of an object, all at once. */
async function named<T extends Record<string, Promise<unknown>>>(readings: T) {
  const values = await Promise.all(Object.values(readings));
  const entries = Object.keys(readings).map((key, index) => [key, values[index]]);
  return Object.fromEntries(entries) as { [K in keyof T]: Awaited<T[K]> };
}

async function readKafka(deps: FactDeps, useKafka: UseKafka, living: Generation[], withinMs: number) {
  const facts = {
    /** Why a part is missing. */
    problem: null as string | null,
    /** The topics that do not exist. */
    missing: [] as string[],
    /** The topics that the Kafka user may not see, or that do not exist. */
    hidden: [] as string[],
    /** If it sees none: the prefixes under which all of them do. */
    otherPrefixes: [] as string[],
    log: null as LogState | null,
    settings: null as TopicSettings[] | null,
    /** Why the settings are missing although Kafka answers. */
    settingsProblem: null as string | null,
    /** The members of each generation's group, by number. */
    members: new Map<number, Member[]>(),
  };
  const fail = (error: unknown) => void (facts.problem ??= explained(error));
  const controlId = await readControlId(deps.control);
  const follows = (generation: number) => ({
    followed: { controlId, database: deps.config.DATABASE_NAME, generation },
    topics: deps.topics,
  });
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
      ...living.map(({ number }) =>
        readMembers(admin, groupIdOf(deps.config, number), follows(number)).then(
          (members) => facts.members.set(number, members),
          // Without Kafka's right Describe on the group its members are unknown.
          () => undefined,
        ),
      ),
    ]);
  }).catch(fail);
  await within(withinMs, reading, () => fail(`no answer for ${withinMs / 1_000} s`));
  // A copy: later answers belong to no reading.
  return { ...facts, members: new Map(facts.members) };
}

type EarlierFacts = { now: Date; generations: { generation: Generation; partitions: PartitionFacts[] }[] };

type Shared = Pick<Facts, 'registry' | 'kafka' | 'now' | 'notCounted'> & { before: EarlierFacts | null };

async function readGeneration(deps: FactDeps, shared: Shared, generation: Generation) {
  const { control, config } = deps;
  const { registry, kafka, now, before, notCounted } = shared;
  const { number } = generation;
  const active = registry?.generation ?? number;
  const stored = await watermarksOf(control).findOne({ _id: number });
  const completeTo = stored?.completeTo ?? null;
  const [progress, gaps, failure, ownRejects, structures] = await Promise.all([
    readProgress(control, number),
    readLogGaps(control, number),
    failuresOf(control).findOne({ _id: number }),
    optional(notCounted, `dead letters of generation ${number} alone`, () =>
      readOwnRejects(control, { active, number, completeTo, now }),
    ),
    readStructures(control, generation),
  ]);
  const lagOf = (at: Date | null) =>
    // A watermark of 1970 means that a partition has applied nothing.
    at && at.getTime() > 0 ? lagSeconds(at, now, config.LATENESS_ALLOWANCE_SECONDS * 1_000) : null;
  const recreated = recreatedTopics(progress, kafka.log);
  const earlier = before?.generations.find((one) => one.generation.number === number);
  const measured = measurePartitions({
    generation,
    topics: deps.topics,
    progress,
    log: kafka.log,
    members: kafka.members.get(number) ?? null,
    recreated,
    lagOf,
    earlier:
      earlier && before
        ? { partitions: earlier.partitions, seconds: (now.getTime() - before.now.getTime()) / 1_000 }
        : null,
  });
  const positions = new Map(progress.map((one) => [partitionKey(one), one.position]));
  const reached = before?.generations.find((one) => one.generation.number === active)?.partitions ?? [];
  return {
    generation,
    watermark: completeTo,
    /** The lag of the watermark, less the lateness allowance; null before there is a watermark. */
    lagSeconds: lagOf(completeTo),
    /** A projector stores it right after progress that is later than 1970. */
    isWatermarkLost: completeTo === null && progress.some((one) => one.completeTo.getTime() > 0),
    /** The indexes that its database cannot use; none before a projector has begun, which creates them. */
    structures: progress.length > 0 || completeTo !== null ? structures : { ...structures, faults: [] },
    ...measured,
    topics: sumByTopic(measured.partitions),
    /** In records. */
    lag: measured.partitions.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
    /** When a projector last saved progress. */
    savedAt: progress.map(({ updatedAt }) => updatedAt).sort((a, b) => Number(b) - Number(a))[0] ?? null,
    isUnpinned: isUnpinned(progress, now),
    recreated,
    /** The gaps in the log that bar its projectors. */
    gaps,
    /** Why projectors with these settings cannot follow it; null if they can. */
    otherTopics: describeOtherTopics(progress, deps.topics),
    failure,
    /** Why its retention is not enforced; null if it is. */
    sweepFailure: stored?.sweepFailure ?? null,
    /** The first dead letter that the active generation does not have, and the number of them; null: not counted. */
    firstReject: ownRejects?.first ?? null,
    rejectCount: ownRejects?.count ?? null,
    /** Partitions below the active generation's position one reading ago. */
    laggingPartitions: reached.flatMap((one) => {
      const [key, active] = [partitionKey(one), one.applied];
      const position = positions.get(key) ?? 0;
      return position < active ? [{ key, position, active }] : [];
    }),
  };
}

/**
 * The topics that were deleted and created again since a generation applied records of them: their offsets now mean other
 * records. Kafka before 2.8 gives topics no id, so such a topic is never listed.
 */
function recreatedTopics(progress: Progress[], log: LogState | null): string[] {
  const recreated = progress.filter(
    ({ topic, topicId, position }) =>
      position > 0 && topicId !== undefined && (log?.topicIds.get(topic) ?? topicId) !== topicId,
  );
  return [...new Set(recreated.map(({ topic }) => topic))].toSorted();
}

/** Whether a running projector of a generation follows the active one instead of its number. */
export const isUnpinned = (progress: Progress[], now: Date): boolean =>
  progress.some((one) => one.isPinned === false && !isSilent(one.updatedAt, now));
