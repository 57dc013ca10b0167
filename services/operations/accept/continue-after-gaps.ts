import type { Gap } from '../../../shared/control/log-gaps.ts';
import { isRecreated, type Progress } from '../../../shared/control/progress.ts';
import {
  parsePartitionKey,
  partitionKey,
  type TopicPartition,
} from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import { withoutLog } from '../partitions.ts';

/** How a partition continues after its gap is accepted. */
export type Continuation = TopicPartition & {
  /**
   * `skip`: after the lost records of the same log. `return`: at the first lost record, where the log now has others.
   * `reset`: at the beginning of the log of a topic that was created again. `gone`: the partition no longer exists.
   */
  is: 'skip' | 'return' | 'reset' | 'gone';
  /** The next offset to apply; null if the partition no longer exists. */
  at: number | null;
  /** From this offset on, other records now have the offsets of lost ones; null if none do. */
  lostFrom: number | null;
  /** The offset up to which records were applied before the gap. Their effect is complete. */
  position: number;
  /** The end of its log. */
  end: number;
  /** The id of the topic; null if the brokers report none. */
  topicId: string | null;
  /** The consequence for its records, for the operator. */
  text: string;
};

type Given = {
  gaps: Gap[];
  progress: Pick<Progress, 'topic' | 'partition' | 'applied'>[];
  log: Pick<LogState, 'partitions' | 'ends' | 'topicIds' | 'unreachable'>;
};

/**
 * Compares gaps and progress with the logs as they are now: a topic that was created again has other records at the
 * same offsets, and may have fewer partitions. Returns a text if a partition cannot continue: the reason. Pure.
 */
export function continueAfterGaps({ gaps, progress, log }: Given): Continuation[] | string {
  const positions = new Map(progress.map((one) => [partitionKey(one), one.applied.position]));
  const gapOf = new Map(gaps.map((gap) => [partitionKey(gap), gap]));
  const gone = new Set(withoutLog([...progress, ...gaps], log).map(partitionKey));
  const recreated = new Set(progress.filter((one) => isRecreated(one, log.topicIds)).map(partitionKey));
  const found: Continuation[] = [];
  for (const key of [...new Set([...gapOf.keys(), ...gone, ...recreated])].toSorted()) {
    const place = parsePartitionKey(key);
    const position = positions.get(key) ?? 0;
    const topicId = log.topicIds.get(place.topic) ?? null;
    const ends = log.ends.get(key);
    const gap = gapOf.get(key);
    if (gone.has(key)) {
      const text = `${key} no longer exists: its progress, up to offset ${position}, is removed`;
      found.push({ ...place, is: 'gone', at: null, lostFrom: 0, position, end: 0, topicId, text });
    } else if (!ends) {
      return `the log of ${key} cannot be read: the topic is missing, or no leader answers`;
    } else if (!gap || gap.kind === 'replaced' || recreated.has(key)) {
      const text =
        `${key} continues at offset ${ends.low}, because the topic was created again: its new log, which ends at offset ` +
        `${ends.end}, is read`;
      found.push({
        ...place,
        is: 'reset',
        at: ends.low,
        lostFrom: 0,
        position,
        end: ends.end,
        topicId,
        text,
      });
    } else {
      found.push({ ...place, position, end: ends.end, topicId, ...pastGap(gap, position, ends) });
    }
  }
  return found;
}

/**
 * Continues in the same log. A gap begins at the offset up to which the log was read. The last records before it may
 * not have been applied, and a log that diverged still has them: the partition then continues at its position.
 */
function pastGap(
  gap: Gap,
  position: number,
  { low, end }: { low: number; end: number },
): Pick<Continuation, 'is' | 'at' | 'lostFrom' | 'text'> {
  const inLog = (offset: number) => Math.min(end, Math.max(low, offset));
  const text = (at: number, consequence: string) =>
    `${partitionKey(gap)} continues at offset ${at}, its log ends at offset ${end}: ${consequence}`;
  if (gap.kind === 'diverged') {
    const at = inLog(Math.min(gap.from, position));
    const kept = `documents keep the lost records from ${gap.from} to ${gap.to}`;
    return { is: 'return', at, lostFrom: Math.min(gap.from, end), text: text(at, kept) };
  }
  const at = inLog(gap.to + 1);
  const skipped = `the records from ${Math.min(gap.from, position)} to ${at - 1} are skipped`;
  return { is: 'skip', at, lostFrom: null, text: text(at, skipped) };
}
