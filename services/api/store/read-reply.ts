import type { Db, Document, Long } from 'mongodb';
import type { ReadDataOptions } from './read-data.ts';

/** A reply is decoded up to the item that would make its items larger than this, as BSON, but one item at least. */
export const itemsBytesMax = 2 * 1_024 * 1_024;

/** How many items of this average size are no larger than that together: `max` at most, but one at least. */
export const itemsOfSize = (max: number, { items, bytes }: { items: number; bytes: number }): number =>
  items === 0 ? max : Math.min(max, Math.max(1, Math.floor((itemsBytesMax * items) / bytes)));

/**
 * Runs a `find` command and returns the documents of its reply, as BSON. `isOpen`: others follow, which are not read. With
 * a cursor of the driver, the API would work 0.25 ms for the read of 20 tickets instead of 0.18 ms.
 */
export async function readReply(
  database: Db,
  command: Document,
  { maxTimeMS, ...options }: ReadDataOptions,
): Promise<{ raws: Uint8Array[]; isOpen: boolean }> {
  const { readPreference, readConcern } = database;
  const { cursor } = (await database.command(
    { ...command, maxTimeMS, ...(readConcern && { readConcern: { ...readConcern } }) },
    { readPreference, ...options, fieldsAsRaw: { firstBatch: true }, promoteLongs: false },
  )) as { cursor: { id: Long; firstBatch: Uint8Array[] } };
  const isOpen = !cursor.id.isZero();
  // Another member than the one that replied does not know the cursor, which ends by itself there after ten minutes.
  if (isOpen)
    await database.command(
      { killCursors: command.find as string, cursors: [cursor.id] },
      { readPreference, ...options },
    );
  return { raws: cursor.firstBatch, isOpen };
}
