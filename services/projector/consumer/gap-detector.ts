import { describeGaps, type Gap } from '../../../shared/control/log-gaps.ts';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { EpochEnd } from '../../../shared/kafka/epoch-ends.ts';
import type { LogOffsets, LogState } from '../../../shared/kafka/log-client.ts';
import { unknownEpoch } from '../../../shared/kafka/record-batch.ts';
import type { FetchState } from '../partition/fetch-state.ts';

/** Kafka has lost records before or after the projector applied them. An operator decides how to continue. */
export class GapFound extends Error {
  override name = 'GapFound';
  readonly gaps: Gap[];
  constructor(gaps: Gap[]) {
    super(
      `${describeGaps(gaps)}. Documents may be out of date: restore the records, rebuild the read model, or accept the gap ` +
        '(docs/gaps.md)',
    );
    this.gaps = gaps;
  }
}

/**
 * How often in a row, a second apart, a gap must be found before it counts. A broker that has just become the leader
 * of a partition may briefly report an end offset below the records already read.
 */
export const gapConfirmationsMin = 5;

/** The place up to which a projector has read a partition, and the identity of the log that it has read. */
export type LogPosition = TopicPartition & {
  /** Offset of the next record to read. */
  offset: number;
  /** The leader epoch of the record batch before that offset, or `unknownEpoch`. */
  leaderEpoch: number;
  /** The id of the topic that was read; null if it is unknown. */
  topicId: string | null;
};

/** The log of a partition, as its current leader reports it. */
export type CurrentLog = Pick<LogOffsets, 'low' | 'end'> & {
  topicId: string | null;
  /** The end of the last epoch that the projector has read; undefined if the brokers were not asked. */
  epochEnd: EpochEnd | undefined;
};

/**
 * The gap between the records that a projector has read and the log; null without a gap. A log of the same topic still
 * contains those records if the last epoch that the projector has read ends at the offset or after it (KIP-320). If
 * that epoch ends earlier, a new leader has lost records, even if the log has grown past the offset.
 */
export function findGap({ topic, partition, ...read }: LogPosition, log: CurrentLog): Gap | null {
  const { offset, topicId } = read;
  const place = { topic, partition, topicId: log.topicId };
  const lastRead = offset - 1;
  const areIdsKnown = topicId !== null && log.topicId !== null;
  if (areIdsKnown && log.topicId !== topicId) return { ...place, kind: 'replaced', from: 0, to: lastRead };
  if (log.low > offset) return { ...place, kind: 'deleted', from: offset, to: log.low - 1 };
  const sharedEnd = endOfSharedLog(read, log);
  return sharedEnd < offset ? { ...place, kind: 'diverged', from: sharedEnd, to: lastRead } : null;
}

/** The offset up to which the log certainly has the records that the projector has read. */
function endOfSharedLog({ offset }: Pick<LogPosition, 'offset'>, { low, end, epochEnd }: CurrentLog): number {
  if (epochEnd === undefined) return Math.min(end, offset);
  const hasEpoch = epochEnd.leaderEpoch !== unknownEpoch && epochEnd.endOffset >= 0;
  // Without such an epoch, the log may share no record with the log that the projector has read.
  if (!hasEpoch) return Math.min(low, offset);
  return Math.max(low, Math.min(end, epochEnd.endOffset, offset));
}

/** The part of a partition that shows whether its log has a gap. */
export type FetchedPartition = TopicPartition & { fetchState: ComparedState };

type ComparedState = Pick<
  FetchState,
  | 'nextOffset'
  | 'leaderEpoch'
  | 'comparedEpoch'
  | 'uncomparedEpoch'
  | 'topicId'
  | 'setComparedEpoch'
  | 'setTopicId'
>;

type DetectorDeps = { epochEnds: (epochs: ReadonlyMap<string, number>) => Promise<Map<string, EpochEnd>> };

/** Looks for gaps in the logs of started partitions. Resolves to those that it has found often enough in a row. */
export type DetectGaps = (partitions: FetchedPartition[], log: GapLogState) => Promise<Gap[]>;

export type GapLogState = Pick<LogState, 'ends' | 'topicIds' | 'leaderEpochs'>;

/**
 * Detects records that Kafka deleted before the fetch, logs that diverged, and topics that were created again. Without
 * the detector, the partition would wait forever, or continue in the new log. The commit loop calls the returned
 * function once a second. After a change of leader the function asks where the last epoch ends. Until the answer, the
 * worker applies no record of the new leader.
 */
export function createGapDetector({ epochEnds }: DetectorDeps): DetectGaps {
  let suspects = new Map<FetchedPartition, { offset: number; observations: number }>();
  return async (partitions, state) => {
    const compared = await compareEpochs(epochEnds, partitions, state);
    const nextSuspects: typeof suspects = new Map();
    const gaps: Gap[] = [];
    for (const partition of partitions) {
      const { nextOffset: offset } = partition.fetchState;
      const log = currentLog(partition, state, compared);
      if (offset === null || !log) continue;
      const gap = detectGap(partition, offset, log);
      if (gap === null) continue;
      const suspect = suspects.get(partition);
      const observations = suspect?.offset === offset ? suspect.observations + 1 : 1;
      // Kafka never assigns the id of a deleted topic again, so one observation is enough.
      if (observations >= gapConfirmationsMin || gap.kind === 'replaced') gaps.push(gap);
      nextSuspects.set(partition, { offset, observations });
    }
    suspects = nextSuspects;
    return gaps;
  };
}

/** The log of a partition, and the comparison with it; null if its leader does not answer. */
function currentLog(
  partition: FetchedPartition,
  { ends, topicIds }: GapLogState,
  compared: Map<FetchedPartition, EpochComparison>,
): (CurrentLog & EpochComparison) | null {
  const log = ends.get(partitionKey(partition));
  const epoch = compared.get(partition);
  return log && epoch ? { ...log, ...epoch, topicId: topicIds.get(partition.topic) ?? null } : null;
}

/** Returns the gap of a partition; null without one. Then marks its log as compared with that of this leader. */
function detectGap(
  { topic, partition, fetchState }: FetchedPartition,
  offset: number,
  log: CurrentLog & EpochComparison,
): Gap | null {
  // The projector has read no record yet, so it follows the topic that has this name now.
  if (offset === 0 && log.topicId !== null) fetchState.setTopicId(log.topicId);
  const { leaderEpoch, topicId } = fetchState;
  const gap = findGap({ topic, partition, offset, leaderEpoch, topicId }, log);
  if (gap === null && log.isCompared) fetchState.setComparedEpoch(log.currentEpoch);
  return gap;
}

/** The comparison of the last epoch that the projector has read of a partition with the log of the current leader. */
type EpochComparison = {
  /** The epoch of the current leader. */
  currentEpoch: number;
  /** The end of the last epoch that the projector has read; undefined without a query or an answer. */
  epochEnd: EpochEnd | undefined;
  /** Whether the comparison with the log of this leader is unnecessary or has an answer. */
  isCompared: boolean;
};

/** Asks each new leader where the last epoch ends that the projector has read of the partition. */
async function compareEpochs(
  epochEnds: DetectorDeps['epochEnds'],
  partitions: FetchedPartition[],
  { leaderEpochs }: Pick<GapLogState, 'leaderEpochs'>,
): Promise<Map<FetchedPartition, EpochComparison>> {
  const epochs = new Map<string, number>();
  const offsetsWhenAsked = new Map<FetchedPartition, number | null>();
  for (const partition of partitions) {
    const { leaderEpoch, comparedEpoch, nextOffset } = partition.fetchState;
    const hasNewLeader = currentEpochOf(partition, leaderEpochs) !== comparedEpoch;
    if (leaderEpoch === unknownEpoch || !hasNewLeader) continue;
    epochs.set(partitionKey(partition), leaderEpoch);
    offsetsWhenAsked.set(partition, nextOffset);
  }
  const answers = epochs.size === 0 ? new Map<string, EpochEnd>() : await epochEnds(epochs);
  const compared = new Map<FetchedPartition, EpochComparison>();
  for (const partition of partitions) {
    const isAsked = offsetsWhenAsked.has(partition);
    // The answer does not cover a batch that was fetched since the query. The next call then asks again.
    const isCurrent = offsetsWhenAsked.get(partition) === partition.fetchState.nextOffset;
    const epochEnd = isCurrent ? answers.get(partitionKey(partition)) : undefined;
    compared.set(partition, {
      currentEpoch: currentEpochOf(partition, leaderEpochs),
      epochEnd,
      isCompared: !isAsked || epochEnd !== undefined,
    });
  }
  return compared;
}

/** The epoch of the current leader, as the brokers report it. */
function currentEpochOf(partition: FetchedPartition, leaderEpochs: GapLogState['leaderEpochs']): number {
  const { comparedEpoch, uncomparedEpoch } = partition.fetchState;
  const reported = leaderEpochs.get(partitionKey(partition)) ?? comparedEpoch;
  // Brokers that report no epoch of a leader still write one into each batch.
  return reported === unknownEpoch ? Math.max(comparedEpoch, uncomparedEpoch) : reported;
}
