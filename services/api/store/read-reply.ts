import type { FindCursor } from 'mongodb';

/** A reply is decoded up to the item that would make its items larger than this, as BSON, but one item at least. */
export const itemsBytesMax = 2 * 1_024 * 1_024;

/** How many items of this average size are no larger than that together: `max` at most, but one at least. */
export const itemsOfSize = (max: number, { items, bytes }: { items: number; bytes: number }): number =>
  items === 0 ? max : Math.min(max, Math.max(1, Math.floor((itemsBytesMax * items) / bytes)));

/** The documents in the first reply of the store, as BSON. `isOpen`: others follow, which are not read. */
export async function readReply(cursor: FindCursor): Promise<{ raws: Uint8Array[]; isOpen: boolean }> {
  await using open = cursor;
  await open.hasNext();
  const raws = open.readBufferedDocuments() as unknown as Uint8Array[];
  return { raws, isOpen: open.id !== undefined && !open.id.isZero() };
}
