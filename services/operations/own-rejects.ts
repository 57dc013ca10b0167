import type { Db } from 'mongodb';
import { recordId } from '../../shared/control/ledger.ts';
import { readSpans, standing } from '../../shared/control/ledger-store.ts';
import { isFollowed, watermark } from '../../shared/control/progress.ts';
import type { Rejection } from '../../shared/control/rejections.ts';

/** The dead letters of a generation that the active one does not have: the first, and their number. */
export type OwnRejects = { first: FirstReject | null; count: number };

export type FirstReject = Rejection & { id: string };

type Given = { active: number; number: number; completeTo: Date | null; now: Date };

/**
 * Reads the dead letters of a generation that the active one does not have. One counts only if both are complete up to
 * its first rejection: the active generation may still reject the same record, or a deletion may still erase it. If no
 * projector follows the active generation, only this one has to be complete.
 */
export async function readOwnRejects(control: Db, given: Given): Promise<OwnRejects> {
  const { active, number, completeTo, now } = given;
  const own: OwnRejects = { first: null, count: 0 };
  if (number === active) return own;
  const activeIsFollowed = await isFollowed(control, active, now);
  const activeTo = activeIsFollowed ? await watermark(control, active) : completeTo;
  const comparableUntilMs = Math.min(completeTo?.getTime() ?? 0, activeTo?.getTime() ?? 0);
  for await (const span of readSpans(control, { 'groups.generations': number }))
    for (const record of standing(span)) {
      const { generations, firstAt, reason, detail } = record;
      if (!generations.includes(number) || generations.includes(active)) continue;
      if (firstAt.getTime() >= comparableUntilMs) continue;
      own.first ??= { id: recordId(record), reason, detail };
      own.count += 1;
    }
  return own;
}
