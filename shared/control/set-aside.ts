import type { Collection, Db } from 'mongodb';
import type { TopicPartition } from './topic-partition.ts';

/** The place of a record in the log. */
export type RecordPlace = TopicPartition & { offset: number };

/**
 * A record that an operator set aside, because its partition stands still at it: projectors store it as a dead letter
 * without applying it.
 */
export type SetAside = RecordPlace & {
  /** `<topic>/<partition>/<offset>` */
  _id: string;
  /** The generations that had not applied it then. A later build applies the record, if it can. */
  generations: number[];
  /** By the store's clock. */
  at: Date;
  /** The operator: `OPERATOR`, or the system user and the host. */
  by: string;
  why: string;
};

/** The records of one partition that are set aside: the detail of each dead letter, by offset. */
export type SetAsideOffsets = ReadonlyMap<number, string>;

export const setAsideOf = (control: Db): Collection<SetAside> => control.collection('set_aside');

export const recordId = ({ topic, partition, offset }: RecordPlace): string =>
  `${topic}/${partition}/${offset}`;

/** Reads which records of a partition are set aside for a generation. */
export async function readSetAside(
  control: Db,
  generation: number,
  { topic, partition }: TopicPartition,
): Promise<SetAsideOffsets> {
  const found = await setAsideOf(control)
    .find({ topic, partition, generations: generation })
    .sort({ _id: 1 })
    .toArray();
  return new Map(found.map(({ offset, by, why }) => [offset, `set aside by ${by}: ${why}`]));
}
