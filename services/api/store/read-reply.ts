import type { FindCursor } from 'mongodb';

/** The documents in the first reply of the store, as BSON. `isOpen`: others follow, which are not read. */
export async function readReply(cursor: FindCursor): Promise<{ raws: Uint8Array[]; isOpen: boolean }> {
  await using open = cursor;
  await open.hasNext();
  const raws = open.readBufferedDocuments() as unknown as Uint8Array[];
  return { raws, isOpen: open.id !== undefined && !open.id.isZero() };
}
