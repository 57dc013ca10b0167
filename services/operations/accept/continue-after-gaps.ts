import type { Gap } from '../../../shared/control/log-gaps.ts';
import { isRecreated, type Progress } from '../../../shared/control/progress.ts';
import {
  parsePartitionKey,
  partitionKey,
  type TopicPartition,
} from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import { partitionsWithoutLog } from '../partitions.ts';

/** How a partition continues after its gap is accepted. */
export type Continuation = TopicPartition & {
  /**
   * `skip`: after the lost records of the same log. `reread`: at the first lost offset, where the log now has others.
   * `reset`: at the beginning of the log of a topic that was created again. `gone`: the partition no longer exists.
   */
  way: 'skip' | 'reread' | 'reset' | 'gone';
  /** The offset to apply next; null if the partition no longer exists. */
  nextOffset: number | null;
  /**
   * The first lost offset that a new record has or may get. The traces of lost records are removed from there on. Null
   * if no new record can have a lost offset.
   */
  lostFrom: number | null;
  /** The offset up to which records were applied before the gap. Their effect is complete. */
  position: number;
  /** The end of the log; 0 if the partition no longer exists. */
  logEnd: number;
  /** The id of the topic; null if the brokers report none. */
  topicId: string | null;
  /** How the partition continues, and the consequence for its records, in words for the operator. */
  text: string;
};

/** The logs as they are now. */
export type Logs = Pick<LogState, 'partitions' | 'ends' | 'topicIds' | 'unreachable'>;

type ContinueInputs = {
  gaps: Gap[];
  progress: Pick<Progress, 'topic' | 'partition' | 'applied'>[];
  log: Logs;
};

/** How every partition continues, or the reason why one of them cannot. */
type ContinueResult = { continuations: Continuation[] } | { problem: string };

/**
 * Decides how partitions continue after gaps, from their progress and the logs as they are now. A topic that was
 * created again has other records at the same offsets, and may have fewer partitions. Pure.
 */
export function continueAfterGaps({ gaps, progress, log }: ContinueInputs): ContinueResult {
  const positions = new Map(progress.map((saved) => [partitionKey(saved), saved.applied.position]));
  const gapOf = new Map(gaps.map((gap) => [partitionKey(gap), gap]));
  const gone = new Set(partitionsWithoutLog([...progress, ...gaps], log).map(partitionKey));
  const recreated = new Set(progress.filter((saved) => isRecreated(saved, log.topicIds)).map(partitionKey));
  const keys = new Set([...gapOf.keys(), ...gone, ...recreated]);
  const continuations: Continuation[] = [];
  for (const key of [...keys].toSorted()) {
    const topicPartition = parsePartitionKey(key);
    const position = positions.get(key) ?? 0;
    const topicId = log.topicIds.get(topicPartition.topic) ?? null;
    const ends = log.ends.get(key);
    const gap = gapOf.get(key);
    if (gone.has(key)) {
      continuations.push({
        ...topicPartition,
        position,
        topicId,
        logEnd: 0,
        ...removeProgress(key, position),
      });
      continue;
    }
    if (!ends) {
      return { problem: `the log of ${key} cannot be read: the topic is missing, or no leader answers` };
    }
    const isNewLog = !gap || gap.kind === 'replaced' || recreated.has(key);
    const continuation = isNewLog ? continueInNewLog(key, ends) : continueAfterGap(gap, position, ends);
    continuations.push({ ...topicPartition, position, topicId, logEnd: ends.end, ...continuation });
  }
  return { continuations };
}

type Ends = { low: number; end: number };

/** The part of a continuation that depends on the gap. */
type AfterGap = Pick<Continuation, 'way' | 'nextOffset' | 'lostFrom' | 'text'>;

const removeProgress = (key: string, position: number): AfterGap => ({
  way: 'gone',
  nextOffset: null,
  lostFrom: 0,
  text: `${key} no longer exists: its progress, up to offset ${position}, is removed`,
});

const continueInNewLog = (key: string, { low, end }: Ends): AfterGap => ({
  way: 'reset',
  nextOffset: low,
  lostFrom: 0,
  text:
    `${key} continues at offset ${low}, because the topic was created again: its new log, which ends at offset ` +
    `${end}, is read`,
});

/**
 * Continues in the same log. A gap begins at the offset up to which the log was read, but the last records before that
 * offset may not have been applied. A log that diverged still has them, so the partition then continues at its
 * position.
 */
function continueAfterGap(gap: Gap, position: number, { low, end }: Ends): AfterGap {
  const clampToLog = (offset: number) => Math.min(end, Math.max(low, offset));
  const textAt = (offset: number, consequence: string) =>
    `${partitionKey(gap)} continues at offset ${offset}, its log ends at offset ${end}: ${consequence}`;
  if (gap.kind === 'diverged') {
    const nextOffset = clampToLog(Math.min(gap.from, position));
    const kept = `documents keep the lost records from ${gap.from} to ${gap.to}`;
    return { way: 'reread', nextOffset, lostFrom: Math.min(gap.from, end), text: textAt(nextOffset, kept) };
  }
  const nextOffset = clampToLog(gap.to + 1);
  const skipped = `the records from ${Math.min(gap.from, position)} to ${nextOffset - 1} are skipped`;
  return { way: 'skip', nextOffset, lostFrom: null, text: textAt(nextOffset, skipped) };
}
