import { describeGaps, type Gap } from '../../../shared/control/log-gaps.ts';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { EpochEnd } from '../../../shared/kafka/epoch-ends.ts';
import type { LogOffsets, LogState } from '../../../shared/kafka/log-client.ts';
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

/** The progress of the reads of a partition, and the identity of its log. */
export type ReadTo = TopicPartition & {
  /** Offset of the next record to read. */
  offset: number;
  /** The leader epoch of the record batch before that offset; -1 if it is unknown. */
  leaderEpoch: number;
  /** The id of the topic that was read; null if it is unknown. */
  topicId: string | null;
};

/** The log of a partition now. */
export type LogNow = Pick<LogOffsets, 'low' | 'end'> & {
  topicId: string | null;
  /** The end of the last epoch that the projector has read; undefined if the brokers were not asked. */
  epochEnd: EpochEnd | undefined;
};

/**
 * The gap between the records that a projector has read and the log; null without a gap. A log of the same topic still
 * contains those records if the last epoch that the projector has read ends at the offset or after it (KIP-320). If
 * that epoch ends earlier, a new leader has lost records, even if the log has grown past the offset.
 */
export function findGap({ topic, partition, ...read }: ReadTo, log: LogNow): Gap | null {
  const { offset, topicId } = read;
  const place = { topic, partition, topicId: log.topicId };
  if (topicId !== null && log.topicId !== null && log.topicId !== topicId)
    return { ...place, kind: 'replaced', from: 0, to: offset - 1 };
  if (log.low > offset) return { ...place, kind: 'deleted', from: offset, to: log.low - 1 };
  const sharedEnd = endOfSharedLog(read, log);
  return sharedEnd < offset ? { ...place, kind: 'diverged', from: sharedEnd, to: offset - 1 } : null;
}

/** The offset up to which the log certainly has the records that the projector has read. */
function endOfSharedLog({ offset }: Pick<ReadTo, 'offset'>, { low, end, epochEnd }: LogNow): number {
  if (epochEnd === undefined) return Math.min(end, offset);
  // The log has no such epoch, so it may share no record with the log that the projector has read.
  if (epochEnd.leaderEpoch < 0 || epochEnd.endOffset < 0) return Math.min(low, offset);
  return Math.max(low, Math.min(end, epochEnd.endOffset, offset));
}

/** The part of a partition that shows whether its log has a gap. */
export type Fetching = TopicPartition & { fetchState: ComparedState };

type ComparedState = Pick<
  FetchState,
  | 'nextOffset'
  | 'leaderEpoch'
  | 'comparedEpoch'
  | 'uncomparedEpoch'
  | 'topicId'
  | 'setCompared'
  | 'setTopicId'
>;

type DetectorDeps = { epochEnds: (epochs: ReadonlyMap<string, number>) => Promise<Map<string, EpochEnd>> };

/** Looks for gaps in the logs of started partitions. Resolves to those that it has found often enough in a row. */
export type DetectGaps = (partitions: Fetching[], log: GapLogState) => Promise<Gap[]>;

export type GapLogState = Pick<LogState, 'ends' | 'topicIds' | 'leaderEpochs'>;

/**
 * Detects records that Kafka deleted before the fetch, logs that diverged, and topics that were created again. Without
 * it, the partition would wait forever, or continue in the new log. The commit loop calls the returned function once a
 * second. After a change of leader it asks where the last epoch ends, and the worker applies no record of the new
 * leader before the answer.
 */
export function createGapDetector({ epochEnds }: DetectorDeps): DetectGaps {
  let suspects = new Map<Fetching, { offset: number; observations: number }>();
  return async (partitions, state) => {
    const compared = await compareEpochs(epochEnds, partitions, state);
    const nextSuspects: typeof suspects = new Map();
    const gaps: Gap[] = [];
    for (const fetching of partitions) {
      const { nextOffset: offset } = fetching.fetchState;
      const log = logNow(fetching, state, compared);
      if (offset === null || !log) continue;
      const gap = gapOf(fetching, offset, log);
      if (gap === null) continue;
      const suspect = suspects.get(fetching);
      const observations = suspect?.offset === offset ? suspect.observations + 1 : 1;
      // Kafka never assigns the id of a deleted topic again, so one observation is enough.
      if (observations >= gapConfirmationsMin || gap.kind === 'replaced') gaps.push(gap);
      nextSuspects.set(fetching, { offset, observations });
    }
    suspects = nextSuspects;
    return gaps;
  };
}

/** The log of a partition, and the comparison with it; null if its leader does not answer. */
function logNow(
  fetching: Fetching,
  { ends, topicIds }: GapLogState,
  compared: Map<Fetching, Compared>,
): (LogNow & Compared) | null {
  const log = ends.get(partitionKey(fetching));
  const epoch = compared.get(fetching);
  return log && epoch ? { ...log, ...epoch, topicId: topicIds.get(fetching.topic) ?? null } : null;
}

/** The gap of a partition; null without one. The partition then needs no further comparison with this leader. */
function gapOf(
  { topic, partition, fetchState }: Fetching,
  offset: number,
  log: LogNow & Compared,
): Gap | null {
  // The projector has read no record yet, so it follows the topic that has this name now.
  if (offset === 0 && log.topicId !== null) fetchState.setTopicId(log.topicId);
  const { leaderEpoch, topicId } = fetchState;
  const gap = findGap({ topic, partition, offset, leaderEpoch, topicId }, log);
  if (gap === null && log.isCompared) fetchState.setCompared(log.currentEpoch);
  return gap;
}

/** The comparison of the last epoch that the projector has read of a partition with the log of the current leader. */
type Compared = {
  /** The epoch of the current leader. */
  currentEpoch: number;
  /** The end of the last epoch that the projector has read; undefined without a query or an answer. */
  epochEnd: EpochEnd | undefined;
  /** Whether the comparison with the log of this leader is unnecessary or has an answer. */
  isCompared: boolean;
};

/** For each partition with a new leader, asks the leader where the last epoch ends that the projector has read. */
async function compareEpochs(
  epochEnds: DetectorDeps['epochEnds'],
  partitions: Fetching[],
  { leaderEpochs }: Pick<GapLogState, 'leaderEpochs'>,
): Promise<Map<Fetching, Compared>> {
  const currentEpochOf = (fetching: Fetching) => {
    const { comparedEpoch, uncomparedEpoch } = fetching.fetchState;
    const reported = leaderEpochs.get(partitionKey(fetching)) ?? comparedEpoch;
    // Brokers that report no epoch of a leader still write one into each batch.
    return reported >= 0 ? reported : Math.max(comparedEpoch, uncomparedEpoch);
  };
  const due = partitions.filter((fetching) => {
    const { leaderEpoch, comparedEpoch } = fetching.fetchState;
    return leaderEpoch >= 0 && currentEpochOf(fetching) !== comparedEpoch;
  });
  const askedAt = new Map(due.map((fetching) => [fetching, fetching.fetchState.nextOffset]));
  const epochs = new Map(due.map((fetching) => [partitionKey(fetching), fetching.fetchState.leaderEpoch]));
  const answers = epochs.size === 0 ? new Map<string, EpochEnd>() : await epochEnds(epochs);
  const compared = new Map<Fetching, Compared>();
  for (const fetching of partitions) {
    const isAsked = askedAt.has(fetching);
    // The answer does not cover a batch that was fetched since the query. The next call then asks again.
    const isCurrent = askedAt.get(fetching) === fetching.fetchState.nextOffset;
    const epochEnd = isCurrent ? answers.get(partitionKey(fetching)) : undefined;
    const isCompared = !isAsked || epochEnd !== undefined;
    compared.set(fetching, { currentEpoch: currentEpochOf(fetching), epochEnd, isCompared });
  }
  return compared;
}
