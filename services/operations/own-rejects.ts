import type { Db } from 'mongodb';
import { type LedgerRecord, recordId } from '../../shared/control/ledger.ts';
import { readSpans, unappliedRecords } from '../../shared/control/ledger-store.ts';
import { isFollowed, readWatermark } from '../../shared/control/progress.ts';
import type { Rejection } from '../../shared/control/rejections.ts';

/** The dead letters of a generation that the active one does not have: the first one, and their number. */
export type OwnRejects = { first: FirstReject | null; count: number };

export type FirstReject = Rejection & { id: string };

/** The numbers of two generations, and the watermark of the one that is not active. */
type ComparedGenerations = { active: number; number: number; completeTo: Date | null; now: Date };

/**
 * Reads the dead letters of a generation that the active one does not have. A dead letter counts only once both
 * generations are complete up to its first rejection: before that, the active one may still reject the same record, or
 * a deletion may erase it. If no projector follows the active generation, only the other watermark counts.
 */
export async function readOwnRejects(control: Db, compared: ComparedGenerations): Promise<OwnRejects> {
  const { active, number, completeTo, now } = compared;
  const own: OwnRejects = { first: null, count: 0 };
  if (number === active) return own;
  const isActiveFollowed = await isFollowed(control, active, now);
  const activeCompleteTo = isActiveFollowed ? await readWatermark(control, active) : completeTo;
  if (!completeTo || !activeCompleteTo) return own;
  const isComparable = ({ firstAt }: LedgerRecord) => firstAt < completeTo && firstAt < activeCompleteTo;
  const isOwn = ({ generations }: LedgerRecord) =>
    generations.includes(number) && !generations.includes(active);
  for await (const span of readSpans(control, { 'groups.generations': number })) {
    for (const record of unappliedRecords(span)) {
      if (!isOwn(record) || !isComparable(record)) continue;
      own.first ??= { id: recordId(record), reason: record.reason, detail: record.detail };
      own.count += 1;
    }
  }
  return own;
}
