import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';

/**
 * Distinguishes a control database from one of the same name on another server. A copy of the database keeps the id.
 */
type ControlId = { _id: 'control'; id: string };

const controlIdOf = (control: Db): Collection<ControlId> => control.collection('control_id');

/** The id of the control database; null before a projector of this release has first started. */
export const readControlId = async (control: Db): Promise<string | null> =>
  (await controlIdOf(control).findOne({ _id: 'control' }))?.id ?? null;

/** Returns the id of the control database. The first projector creates it; if several try, one succeeds. */
export async function ensureControlId(control: Db): Promise<string> {
  const known = await readControlId(control);
  if (known !== null) return known;
  const insertOnly = { $setOnInsert: { id: randomUUID() } };
  await controlIdOf(control).updateOne({ _id: 'control' }, insertOnly, { upsert: true });
  const stored = await readControlId(control);
  if (stored === null) throw new Error('the id of the control database was removed while it was read');
  return stored;
}
