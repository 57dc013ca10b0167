import { type Db, MongoServerError } from 'mongodb';
import { decodeTime } from 'ulid';
import { requestTracesOf, tracedKeyIndex } from '../../../shared/control/request-traces.ts';
import { dayMs } from '../../../shared/documents/instant.ts';

/** The last use of a key, as far as the traces of requests tell. */
export type LastUse = {
  /** The day, such as `2026-01-31`; else `never`, or `unknown` with the reason. */
  lastUse: string;
  /** Whether no kept trace is of the key, although requests are traced. */
  isUnused: boolean;
};

/** The first kept trace, and for how many days it is kept. */
type Kept = { fromMs: number; days: number };

/** Look-ups in progress at once. */
const lookUpsMax = 16;
/** MongoDB's code for a value that it does not accept, such as a hint of an index that does not exist. */
const badValue = 2;

/**
 * Finds when each key was last used: one entry of an index for each key, whatever the number of traces. The day is that
 * of the first trace in the same batch, up to a second earlier.
 */
export async function readLastUses(
  control: Db,
  keys: { id: string; createdAt: Date | null }[],
): Promise<Map<string, LastUse>> {
  const kept = await readKept(control);
  const uses = new Map<string, LastUse>();
  try {
    for (let start = 0; start < keys.length; start += lookUpsMax) {
      const some = keys.slice(start, start + lookUpsMax);
      const days = await Promise.all(some.map(({ id }) => lastDay(control, id)));
      for (const [index, key] of some.entries())
        uses.set(key.id, lastUseOf(key.createdAt, days[index] ?? null, kept));
    }
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === badValue)) throw error;
    const lastUse = 'unknown: the API of this release has not indexed the traces yet';
    return new Map(keys.map(({ id }) => [id, { lastUse, isUnused: false }]));
  }
  return uses;
}

/** The time at which a batch begins, which its id contains. */
const timeOf = (batchId: string): number => decodeTime(batchId.slice('req_'.length));
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

async function readKept(control: Db): Promise<Kept | null> {
  const [first] = await requestTracesOf(control)
    .find({}, { projection: { expiresAt: 1 } })
    .sort({ _id: 1 })
    .limit(1)
    .toArray();
  if (!first) return null;
  const fromMs = timeOf(first._id);
  return { fromMs, days: Math.round((first.expiresAt.getTime() - fromMs) / dayMs) };
}

async function lastDay(control: Db, keyId: string): Promise<string | null> {
  const [last] = await requestTracesOf(control)
    .find({ 'traces.keyId': keyId }, { projection: { _id: 1 }, hint: tracedKeyIndex.name })
    .sort({ _id: -1 })
    .limit(1)
    .toArray();
  return last ? dayOf(timeOf(last._id)) : null;
}

/** A key without a creation time is one that the served generation lacks. */
function lastUseOf(createdAt: Date | null, day: string | null, kept: Kept | null): LastUse {
  if (day !== null) return { lastUse: day, isUnused: false };
  if (kept === null) return { lastUse: 'unknown: no request is traced', isUnused: false };
  if (createdAt && createdAt.getTime() >= kept.fromMs) return { lastUse: 'never', isUnused: true };
  const lastUse = `unknown before ${dayOf(kept.fromMs)}: traces are kept ${kept.days} days`;
  return { lastUse, isUnused: true };
}
