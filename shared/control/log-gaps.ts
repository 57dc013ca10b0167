import type { Collection, Db, FindOptions } from 'mongodb';
import { andFurther } from '../runtime/counted.ts';

/**
 * The reason why a log lacks records:
 *
 * - `deleted`: retention or an operator deleted records that were not applied.
 * - `diverged`: the log lost records that were read, and other records may have their offsets now. An unclean leader
 *   election causes this, or a broker that was restored from a backup.
 * - `replaced`: the topic was deleted and created again since its records were applied.
 */
export type GapKind = 'deleted' | 'diverged' | 'replaced';

/** A gap as it is found: the records of a partition from offset `from` to `to`, both included. */
export type Gap = {
  topic: string;
  partition: number;
  kind: GapKind;
  from: number;
  to: number;
  /** The id of the topic that has this log; null if the brokers report no id. */
  topicId: string | null;
};

/**
 * A gap of a generation, as it is stored. It stops every start of a projector, even after the log has grown past the
 * position again. Only an operator ends the gap, by accepting it or by dropping the generation.
 */
export type LogGap = Gap & {
  /** `<generation>/<topic>/<partition>` */
  _id: string;
  generation: number;
  /** The projector that found it: host and process. */
  by: string;
  /** By MongoDB's clock. */
  at: Date;
};

export const logGapsOf = (control: Db): Collection<LogGap> => control.collection('log_gaps');

/** The gaps of a generation, in the order in which they were found. Sorts the few gaps here, without an index. */
export async function readLogGaps(control: Db, generation: number, options: FindOptions = {}) {
  const gaps = await logGapsOf(control).find({ generation }, options).sort({ _id: 1 }).toArray();
  return gaps.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** Stores gaps. If a partition already has a gap, that one stays. */
export async function storeLogGaps(
  { control, generation, by }: { control: Db; generation: number; by: string },
  gaps: Gap[],
  at: Date,
): Promise<void> {
  await logGapsOf(control).bulkWrite(
    gaps.map((gap) => {
      const filter = { _id: `${generation}/${gap.topic}/${gap.partition}` };
      const update = { $setOnInsert: { generation, ...gap, by, at } };
      return { updateOne: { filter, update, upsert: true } };
    }),
    { ordered: false },
  );
}

/** Describes gaps to an operator: the first one, and the number of the others. */
export function describeGaps(gaps: readonly Gap[]): string {
  const [first] = gaps;
  if (!first) return 'no gap';
  return `${describeGap(first)}${andFurther(gaps.length - 1, 'partition')}`;
}

function describeGap({ topic, partition, kind, from, to }: Gap): string {
  const log = `${topic}/${partition}`;
  switch (kind) {
    case 'deleted':
      return `${log}: the records from offset ${from} to ${to} are gone from the log (retention or deletion) and were not applied`;
    case 'diverged':
      return (
        `${log}: this read model has read the log up to offset ${to}, but the log has lost those records from ${from} on ` +
        '(an unclean leader election, or a broker that was restored): later records at these offsets are not applied'
      );
    case 'replaced':
      return `${log}: this read model has applied records of another topic of this name: it was deleted and created again`;
  }
}
