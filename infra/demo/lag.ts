import { setTimeout as delay } from 'node:timers/promises';
import { estimateDocuments } from '../../services/operations/status/status.ts';
import { endOffsets, recordedPositions } from '../../services/projector/consumer/progress.ts';
import { controlDatabase, generationDatabase } from '../../shared/store/connection.ts';
import { activeGeneration } from '../../shared/control/generations.ts';
import type { DemoConnections } from './connections.ts';

/** The records in Kafka, and the number of them that the active generation has not applied yet. */
type Lag = { records: number; lag: number };

export async function readLag(connections: DemoConnections): Promise<Lag> {
  const { admin, mongo, databaseName, topics } = connections;
  const ends = [...(await endOffsets(admin, topics))];
  const generation = await servedGeneration(connections);
  const positions = await recordedPositions(controlDatabase(mongo, databaseName), generation);
  return {
    records: sum(ends.map(([, { end }]) => end)),
    lag: sum(ends.map(([key, { end }]) => Math.max(0, end - (positions.get(key) ?? 0)))),
  };
}

/** Resolves when the projector has applied all records. Reports its progress, 0 to 1. */
export async function untilCaughtUp(
  connections: DemoConnections,
  report: (done: number) => void,
): Promise<void> {
  for (;;) {
    const { records, lag } = await readLag(connections);
    report(records === 0 ? 1 : 1 - lag / records);
    if (lag === 0) return;
    await delay(250);
  }
}

/** The number of documents of all kinds that are served, estimated from the store's statistics. */
export async function countDocuments(connections: DemoConnections): Promise<number> {
  const { mongo, databaseName } = connections;
  const database = generationDatabase(mongo, databaseName, await servedGeneration(connections));
  return sum(Object.values(await estimateDocuments(database)));
}

/** The active generation: the first one before the projector has started. */
async function servedGeneration({ mongo, databaseName }: DemoConnections): Promise<number> {
  const active = await activeGeneration(controlDatabase(mongo, databaseName));
  return active?.generation ?? 1;
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
