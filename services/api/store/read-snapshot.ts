import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { withDeadline } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

/** What one request reads: a generation's database, and the watermark that was read before any of its data. */
export type ReadSnapshot = Databases & { generation: number; dataAsOf: Date };

/** A generation's database on two connection pools, so that reads of data do not delay authentication. */
export type Databases = { database: Db; authDatabase: Db };

export type ReadSnapshots = {
  /** Returns a snapshot at most a second old. A failure is cached for a second as well. */
  current: () => Promise<ReadSnapshot>;
  /** The watermark of the last snapshot; 1970 before the first. */
  lastDataAsOf: () => Date;
};

export type SnapshotSources = {
  /**
   * Connects to the store if that has not succeeded yet. If the driver's first connection fails, it refuses every
   * operation (`Topology is closed`) until `connect` is called again.
   */
  connect: () => Promise<unknown>;
  activeGeneration: () => Promise<number | null>;
  watermark: (generation: number) => Promise<Date | null>;
  missingIndexes: (database: Db) => Promise<string[]>;
  databasesOf: (generation: number) => Databases;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

/** How long a snapshot, or the failure to read one, is cached. */
const lifetimeMs = 1_000;
/**
 * A newly promoted generation may be slightly behind the watermark that clients have seen. For this time the old
 * generation is still served, until the new one has caught up, so that `Data-As-Of` does not go back. After that the new
 * generation is served with its own watermark: overstating it would make exports lose changes.
 */
const switchGraceMs = 5_000;

type Cache = {
  latest: { snapshot: ReadSnapshot; readMs: number } | null;
  failure: { error: unknown; readMs: number } | null;
  /** When the active generation was first found to be behind the one that is served. */
  behindSinceMs: number | null;
};

export function createReadSnapshots(sources: SnapshotSources): ReadSnapshots {
  const cache: Cache = { latest: null, failure: null, behindSinceMs: null };
  let pending: Promise<ReadSnapshot> | null = null;

  const refresh = async (): Promise<ReadSnapshot> => {
    const readMs = sources.nowMs();
    try {
      const snapshot = await withDeadline(readSnapshot(sources, cache));
      cache.latest = { snapshot, readMs };
      cache.failure = null;
      return snapshot;
    } catch (error) {
      cache.failure = { error, readMs: sources.nowMs() };
      throw error;
    } finally {
      pending = null;
    }
  };

  return {
    lastDataAsOf: () => cache.latest?.snapshot.dataAsOf ?? new Date(0),
    current: async () => {
      const { latest, failure } = cache;
      const isFresh = (readMs: number) => sources.nowMs() - readMs < lifetimeMs;
      if (failure && isFresh(failure.readMs)) throw failure.error;
      if (latest && isFresh(latest.readMs)) return latest.snapshot;
      return (pending ??= refresh());
    },
  };
}

async function readSnapshot(sources: SnapshotSources, cache: Cache): Promise<ReadSnapshot> {
  await sources.connect();
  const generation = await sources.activeGeneration();
  if (generation === null) throw new StoreUnavailable('no generation is active yet');
  const previous = cache.latest?.snapshot;
  const dataAsOf = (await sources.watermark(generation)) ?? new Date(0);
  if (previous?.generation === generation) {
    cache.behindSinceMs = null;
    return { ...previous, dataAsOf: dataAsOf > previous.dataAsOf ? dataAsOf : previous.dataAsOf };
  }
  const databases = sources.databasesOf(generation);
  const missing = await sources.missingIndexes(databases.authDatabase);
  if (missing.length > 0) {
    throw new StoreUnavailable(`generation ${generation} lacks indexes: ${missing.join(', ')}`);
  }
  if (previous && dataAsOf < previous.dataAsOf) {
    cache.behindSinceMs ??= sources.nowMs();
    if (sources.nowMs() - cache.behindSinceMs < switchGraceMs) return previous;
    sources.logger.warn({ generation, dataAsOf, before: previous.dataAsOf }, 'Data-As-Of goes back');
  }
  cache.behindSinceMs = null;
  sources.logger.info({ generation }, 'serving generation');
  return { ...databases, generation, dataAsOf };
}
