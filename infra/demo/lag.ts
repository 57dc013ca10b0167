import { setTimeout as delay } from 'node:timers/promises';
import { kinds } from '../../shared/documents/document.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../shared/store/connection.ts';
import { activeGeneration } from '../../shared/store/generations.ts';
import { endOffsets, recordedPositions } from '../../services/projector/consumer/progress.ts';
import type { DemoConnections } from './connections.ts';

/** The records in Kafka, and the number of them that the active generation has not applied yet. */
export type Lag = { records: number; behind: number };

/** Compares the end offsets of all partitions with the recorded positions of the active generation. */
export async function readLag(connections: DemoConnections): Promise<Lag> {
  const { admin, mongo, databaseName, topics } = connections;
  const ends = await endOffsets(admin, topics);
  const positions = await recordedPositions(
    controlDatabase(mongo, databaseName),
    await servedGeneration(connections),
  );
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

/** The number of documents of all kinds that are served, estimated from the store's statistics. */
export async function countDocuments(connections: DemoConnections): Promise<number> {
  const { mongo, databaseName } = connections;
  const database = generationDatabase(mongo, databaseName, await servedGeneration(connections));
  const counts = await Promise.all(
    kinds.map((kind) => collectionOf(database, kind).estimatedDocumentCount()),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The active generation: the first one before the projector has started. */
async function servedGeneration({ mongo, databaseName }: DemoConnections): Promise<number> {
  const active = await activeGeneration(controlDatabase(mongo, databaseName));
  return active?.generation ?? 1;
}
