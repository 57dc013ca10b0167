import { setTimeout as delay } from 'node:timers/promises';
import { kinds } from '../../shared/documents/document.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../shared/store/connection.ts';
import { endOffsets, recordedPositions } from '../../services/projector/consumer/progress.ts';
import type { DemoConnections } from './connections.ts';

const generation = 1;

/** The records in Kafka, and the number of them that the projector has not applied yet. */
export type Lag = { records: number; behind: number };

/** Compares the end offsets of all partitions with the projector's recorded positions. */
export async function readLag({ admin, mongo, databaseName, topics }: DemoConnections): Promise<Lag> {
  const ends = await endOffsets(admin, topics);
  const positions = await recordedPositions(controlDatabase(mongo, databaseName), generation);
  let [records, behind] = [0, 0];
  for (const [key, { end }] of ends) {
    records += end;
    behind += Math.max(0, end - (positions.get(key) ?? 0));
  }
  return { records, behind };
}

/** Resolves when the projector has applied all records. Reports its progress, 0 to 1. */
export async function untilCaughtUp(
  connections: DemoConnections,
  report: (done: number) => void,
): Promise<void> {
  for (;;) {
    const { records, behind } = await readLag(connections);
    report(records === 0 ? 1 : 1 - behind / records);
    if (behind === 0) return;
    await delay(250);
  }
}

/** The number of documents of all kinds, estimated from the store's statistics. */
export async function countDocuments({ mongo, databaseName }: DemoConnections): Promise<number> {
  const database = generationDatabase(mongo, databaseName, generation);
  const counts = await Promise.all(
    kinds.map((kind) => collectionOf(database, kind).estimatedDocumentCount()),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
