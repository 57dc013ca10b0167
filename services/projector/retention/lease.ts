import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';

/** The process that holds an exclusive task, and until when, unless it renews the lease. */
export type Lease = { _id: string; holder: string; until: Date };

const leasesOf = (control: Db): Collection<Lease> => control.collection('leases');

/** Identifies this process as the holder of a lease. */
const holder = randomUUID();

/** Takes or renews a lease. Returns false while another process holds it. */
export async function takeLease(
  control: Db,
  { id, now, durationMs }: { id: string; now: Date; durationMs: number },
): Promise<boolean> {
  const until = new Date(now.getTime() + durationMs);
  const free = { _id: id, $or: [{ holder }, { until: { $lte: now } }] };
  const { matchedCount } = await leasesOf(control).updateOne(free, { $set: { holder, until } });
  if (matchedCount > 0) return true;
  // The first process that asks for the lease creates it.
  const { upsertedCount } = await leasesOf(control).updateOne(
    { _id: id },
    { $setOnInsert: { holder, until } },
    { upsert: true },
  );
  return upsertedCount > 0;
}

/** Releases the lease, so that another process can take it at once. */
export async function releaseLease(control: Db, id: string): Promise<void> {
  await leasesOf(control).deleteOne({ _id: id, holder });
}
