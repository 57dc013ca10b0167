import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { withDeadline } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

/** What one request reads: a generation's database, and the instant up to which that was complete before. */
export type ReadSnapshot = Databases & { generation: number; dataAsOf: Date };

/** A generation's database by two pools of connections, so that reads of data hold up nobody's authentication. */
export type Databases = { database: Db; authDatabase: Db };

export type ReadSnapshots = {
  /** At most a second old. Fails while there is nothing to serve from, then again for a second at no cost. */
  current: () => Promise<ReadSnapshot>;
  /** The watermark of the last view; 1970 before the first. */
  lastDataAsOf: () => Date;
};

export type SnapshotSources = {
  /**
   * Connects to the store if that has not succeeded yet. A driver whose first connection fails refuses every
   * later operation (`Topology is closed`) until it is told to connect again.
   */
  connect: () => Promise<unknown>;
  activeGeneration: () => Promise<number | null>;
  watermark: (generation: number) => Promise<Date | null>;
  missingIndexes: (database: Db) => Promise<string[]>;
  databasesOf: (generation: number) => Databases;
  logger: Logger;
  /** A clock that never goes back, in milliseconds. */
  nowMs: () => number;
};

/** How long a view, or the failure to get one, is used. */
const lifetimeMs = 1_000;
/**
 * A generation just promoted may be a moment behind what was promised to readers of the old one; for this
 * long the old one is served until the new has caught up, so that `Data-As-Of` does not go back. After that
 * the operator's word stands, and the header is the new generation's own: overstating it would lose changes.
 */
const switchGraceMs = 5_000;

type Held = { snapshot: ReadSnapshot; readMs: number };
type Memory = {
  held: Held | null;
  failure: { error: unknown; readMs: number } | null;
  waitingSinceMs: number | null;
};

export function createReadSnapshots(sources: SnapshotSources): ReadSnapshots {
  const memory: Memory = { held: null, failure: null, waitingSinceMs: null };
  let pending: Promise<ReadSnapshot> | null = null;

  const refresh = async (): Promise<ReadSnapshot> => {
    const readMs = sources.nowMs();
    try {
      const snapshot = await withDeadline(readView(sources, memory));
      memory.held = { snapshot, readMs };
      memory.failure = null;
      return snapshot;
    } catch (error) {
      memory.failure = { error, readMs: sources.nowMs() };
      throw error;
    } finally {
      pending = null;
    }
  };

  return {
    lastDataAsOf: () => memory.held?.snapshot.dataAsOf ?? new Date(0),
    current: async () => {
      const { held, failure } = memory;
      const isFresh = (readMs: number) => sources.nowMs() - readMs < lifetimeMs;
      if (failure && isFresh(failure.readMs)) throw failure.error;
      if (held && isFresh(held.readMs)) return held.snapshot;
      return (pending ??= refresh());
    },
  };
}

async function readView(sources: SnapshotSources, memory: Memory): Promise<ReadSnapshot> {
  await sources.connect();
  const generation = await sources.activeGeneration();
  if (generation === null) throw new StoreUnavailable('no generation is active yet');
  const previous = memory.held?.snapshot;
  const dataAsOf = (await sources.watermark(generation)) ?? new Date(0);
  if (previous?.generation === generation) {
    memory.waitingSinceMs = null;
    return { ...previous, dataAsOf: dataAsOf > previous.dataAsOf ? dataAsOf : previous.dataAsOf };
  }
  const databases = sources.databasesOf(generation);
  const missing = await sources.missingIndexes(databases.authDatabase);
  if (missing.length > 0) {
    throw new StoreUnavailable(`generation ${generation} lacks indexes: ${missing.join(', ')}`);
  }
  if (previous && dataAsOf < previous.dataAsOf) {
    memory.waitingSinceMs ??= sources.nowMs();
    if (sources.nowMs() - memory.waitingSinceMs < switchGraceMs) return previous;
    sources.logger.warn({ generation, dataAsOf, before: previous.dataAsOf }, 'data-as-of goes back');
  }
  memory.waitingSinceMs = null;
  sources.logger.info({ generation }, 'serving generation');
  return { ...databases, generation, dataAsOf };
}
