import type { Generation, GenerationRegistry } from '../../shared/control/generations.ts';
import { type LogGap, readLogGaps } from '../../shared/control/log-gaps.ts';
import { type Projector, projectorsOf } from '../../shared/control/processes.ts';
import {
  isRecreated,
  lagSeconds,
  type Progress,
  readProgress,
  watermarksOf,
} from '../../shared/control/progress.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';
import { describeOtherTopics } from '../../shared/kafka/other-topics.ts';
import type { OperatorDeps } from './deps.ts';
import type { KafkaFacts } from './kafka-facts.ts';
import { type NotCounted, readOptional } from './optional.ts';
import { type OwnRejects, readOwnRejects } from './own-rejects.ts';
import { measurePartitions, type PartitionFacts, sumByTopic, type TopicFacts } from './partitions.ts';
import { readStructures, type StructureFacts } from './structures.ts';

/** A partition that has applied fewer records than the active generation had applied at the previous reading. */
type LaggingPartition = {
  /** `<topic>/<partition>` */
  key: string;
  position: number;
  /** The active generation's position. */
  active: number;
};

/** The facts of one generation, read at one moment. */
export type GenerationFacts = {
  generation: Generation;
  /** Null before a projector has stored one. */
  watermark: Date | null;
  /** The lag of the watermark, less the lateness allowance; null before there is a watermark. */
  lagSeconds: number | null;
  /** Its progress has an instant, but the watermark is missing: a projector always stores both. */
  isWatermarkLost: boolean;
  /** The faults of its collections and indexes. Until its first projector has created them, none counts as missing. */
  structures: StructureFacts;
  partitions: PartitionFacts[];
  /** Records that a build applies after its load, because they were published after its start. */
  recordsAfterLoad: number;
  /** The sums over the partitions of each topic. */
  topics: TopicFacts[];
  /** The sum of the known lags of its partitions, in records. */
  lag: number;
  /** When a projector last saved progress; null without saved progress. */
  savedAt: Date | null;
  /** The id of that projector in the register of processes; null if it is not known. */
  savedBy: string | null;
  /** The projectors that follow it, or did in the last hour; the latest announcement first. */
  projectors: Projector[];
  /** The topics that someone deleted and created again after the generation applied their records. */
  recreated: string[];
  /** The gaps in the log that stop its projectors. */
  gaps: LogGap[];
  /** The reason why projectors with these settings cannot follow it; null if they can. */
  otherTopics: string | null;
  /**
   * The first dead letter that the active generation does not have; null without one, or if MongoDB refused to count.
   */
  firstReject: OwnRejects['first'];
  /** The number of dead letters that the active generation does not have; null: not counted. */
  rejectCount: number | null;
  laggingPartitions: LaggingPartition[];
};

type EarlierFacts = { now: Date; generations: { generation: Generation; partitions: PartitionFacts[] }[] };

/** The part of a reading that all generations share. */
type SharedFacts = {
  registry: GenerationRegistry | null;
  /** The projectors of all generations. */
  projectors: Projector[];
  kafka: KafkaFacts;
  now: Date;
  /** Receives the parts that MongoDB refuses to count. */
  notCounted: NotCounted[];
  /** Earlier facts, for rates; null without an earlier reading. */
  earlier: EarlierFacts | null;
};

/** Reads the facts of one generation. */
export async function readGeneration(
  deps: Pick<OperatorDeps, 'control' | 'config' | 'topics'>,
  shared: SharedFacts,
  generation: Generation,
): Promise<GenerationFacts> {
  const { control, config } = deps;
  const { registry, kafka, now, earlier, notCounted } = shared;
  const { number } = generation;
  const active = registry?.generation ?? number;
  const stored = await watermarksOf(control).findOne({ _id: number });
  const completeTo = stored?.completeTo ?? null;
  const countOwnRejects = () => readOwnRejects(control, { active, number, completeTo, now });
  const [progress, gaps, countedRejects, structures] = await Promise.all([
    readProgress(control, number),
    readLogGaps(control, number),
    readOptional(notCounted, `dead letters of generation ${number} alone`, countOwnRejects),
    readStructures(control, generation),
  ]);
  const ownRejects = countedRejects ?? { first: null, count: null };
  const lagOf = (at: Date | null) =>
    // A watermark of 1970 means that a partition was never applied to the end of its log.
    at && at.getTime() > 0 ? lagSeconds(at, now, config.LATENESS_ALLOWANCE_SECONDS * 1_000) : null;
  const projectors = projectorsOf(shared.projectors, number, active);
  const recreated = recreatedTopics(progress, kafka.log);
  const measured = measurePartitions({
    generation,
    topics: deps.topics,
    progress,
    log: kafka.log,
    members: kafka.members.get(number) ?? null,
    recreated,
    projectors,
    lagOf,
    earlier: earlier && {
      partitions: partitionsIn(earlier, number),
      seconds: (now.getTime() - earlier.now.getTime()) / 1_000,
    },
  });
  const hasStarted = progress.length > 0 || completeTo !== null;
  return {
    generation,
    watermark: completeTo,
    lagSeconds: lagOf(completeTo),
    isWatermarkLost: completeTo === null && progress.some((saved) => saved.completeTo.getTime() > 0),
    structures: hasStarted ? structures : { ...structures, faults: [] },
    ...measured,
    topics: sumByTopic(measured.partitions),
    lag: measured.partitions.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
    ...lastSave(progress),
    projectors,
    recreated,
    gaps,
    otherTopics: describeOtherTopics(progress, deps.topics),
    firstReject: ownRejects.first,
    rejectCount: ownRejects.count,
    laggingPartitions: comparePositions(progress, partitionsIn(earlier, active)),
  };
}

/** When the progress of some partition was last saved, and by which projector. */
function lastSave(progress: Progress[]): Pick<GenerationFacts, 'savedAt' | 'savedBy'> {
  const [latest] = progress.toSorted((a, b) => Number(b.updatedAt) - Number(a.updatedAt));
  if (!latest) return { savedAt: null, savedBy: null };
  return { savedAt: latest.updatedAt, savedBy: latest.saved?.processId ?? null };
}

/** The partitions of a generation in earlier facts; none if it was registered after that reading. */
const partitionsIn = (earlier: EarlierFacts | null, number: number): PartitionFacts[] =>
  earlier?.generations.find(({ generation }) => generation.number === number)?.partitions ?? [];

/**
 * The partitions that have applied less than the active generation. `active` are its positions at the previous reading:
 * both generations apply records all the time, so present positions would never agree.
 */
function comparePositions(progress: Progress[], active: PartitionFacts[]): LaggingPartition[] {
  const positions = new Map(progress.map((saved) => [partitionKey(saved), saved.applied.position]));
  return active.flatMap((partition) => {
    const key = partitionKey(partition);
    const position = positions.get(key) ?? 0;
    return position < partition.applied ? [{ key, position, active: partition.applied }] : [];
  });
}

/** The topics that someone deleted and created again since the generation applied their records. */
function recreatedTopics(progress: Progress[], log: LogState | null): string[] {
  if (!log) return [];
  const recreated = progress.filter((saved) => isRecreated(saved, log.topicIds));
  return [...new Set(recreated.map(({ topic }) => topic))].toSorted();
}
