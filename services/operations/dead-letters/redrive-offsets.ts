import type { Db } from 'mongodb';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { changeTallies } from '../../../shared/control/tallies.ts';
import { closeOffsets, entryIdOf } from '../../../shared/control/tally.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { lackedOffsets, selectCounted } from './counted.ts';
import type { Redriven, Settle } from './redrive.ts';
import type { Selection } from './selection.ts';

/** One counted dead letter. */
export type OffsetLetter = TopicPartition & {
  /** `<topic>/<partition>/<offset>` */
  _id: string;
  offset: number;
  tallyId: string;
  generations: number[];
  reason: Rejection['reason'];
  /** The earliest and the latest timestamp of the records of its entry. */
  earliestMs: number;
  latestMs: number;
};

/** Records that are applied together. */
const offsetsPerChunk = 1_000;

/** Yields up to `limit` selected counted dead letters in chunks, each of one tally, with the ids of their entries. */
export async function* selectedOffsets(
  control: Db,
  selection: Selection,
  limit: number,
): AsyncGenerator<{ ids: string[]; letters: OffsetLetter[] }> {
  let left = limit;
  for (const part of await selectCounted(control, selection)) {
    const { tally, entry } = part;
    const { topic, partition, _id: tallyId } = tally;
    const { reason, earliestMs, latestMs } = entry;
    const letters = lackedOffsets(part)
      .slice(0, left)
      .map(({ offset, generations }) => ({
        _id: `${topic}/${partition}/${offset}`,
        topic,
        partition,
        offset,
        tallyId,
        generations,
        reason,
        earliestMs,
        latestMs,
      }));
    left -= letters.length;
    const ids = [entryIdOf(tally, entry)];
    for (let start = 0; start < letters.length; start += offsetsPerChunk)
      yield { ids, letters: letters.slice(start, start + offsetsPerChunk) };
  }
}

/** Whether the record at an offset is the counted one. The topic may have been created again since. */
export const isCountedRecord = ({ earliestMs, latestMs }: OffsetLetter, { position }: KafkaRecord): boolean =>
  position.timestampMs >= earliestMs && position.timestampMs <= latestMs;

export const refuseLost = ({ _id, reason }: OffsetLetter): Redriven => ({
  id: _id,
  outcome: 'refused',
  reason,
  detail:
    'only the offset of the record is stored, and it is not in the log any more: publish its entity again from its source, then purge this dead letter',
});

/** Closes counted dead letters of a tally for a generation. The refused ones stay as they are. */
export const settleOffsets =
  (tallyId: string): Settle =>
  async ({ control, generation }, closed) => {
    const offsets = closed.map(({ deadLetter }) => deadLetter.offset);
    if (offsets.length === 0) return;
    await changeTallies(control, [tallyId], (tally) => closeOffsets(tally, offsets, generation));
  };
