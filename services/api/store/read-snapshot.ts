import type { ClusterTime, Db, Timestamp } from 'mongodb';
import { describeLost, type Manifest, missing, servedFrom } from '../../../shared/control/manifest.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { logChanges } from '../../../shared/runtime/log-changes.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { type Collections, describeIndexFault, type IndexFault } from '../../../shared/store/structures.ts';
import { type ReadOptions, readRepeatedly, withDeadline } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The sources of one request: a generation's database, and the watermark that was read before any of its data. */
export type ReadSnapshot = Databases & {
  generation: number;
  /** 1970 during the first load: not every record of the log was applied yet. */
  dataAsOf: Date;
  /** When the watermark was read, for data from secondaries. Null if data come from the primary. */
  readAfter: StoreTime | null;
  /** The served collections. They were read before the watermark, so they were there before any data was read. */
  collections: Collections;
};

/** A point in the history of a replica set or sharded cluster. */
export type StoreTime = { operationTime: Timestamp; clusterTime: ClusterTime };

/** The part of a snapshot that reads of data need. */
export type DataSnapshot = Omit<ReadSnapshot, 'dataAsOf'>;

/** A generation's database on two connection pools, so that reads of data do not delay authentication. */
export type Databases = { database: Db; authDatabase: Db };

export type ReadSnapshots = {
  /** The watermark of the last snapshot; 1970 before the first. */
  lastDataAsOf: () => Date;
  /** The generation of the last snapshot; null before the first. */
  lastGeneration: () => number | null;
  /**
   * Returns a snapshot at most a second old. After a failure, requests get its error at once, so that they do not wait
   * for a silent store. Once a second, a request starts another read, until a read succeeds.
   */
  current: () => Promise<ReadSnapshot>;
};

/** The generation to be served, as the registry names it. */
type ActiveGeneration = {
  generation: number;
  /** An operator accepted that it lags the generation that was served before. */
  acceptOlder: boolean;
  /** The collections that must exist, of the control database and of the generation. */
  manifests: { control: Manifest; documents: Manifest };
};

/** The collections and indexes of a generation, as its snapshot finds them. */
export type Structures = {
  /** The collections that the API reads. */
  collections: Collections;
  /** Their indexes that reads need, and that are missing or hidden. */
  faults: IndexFault[];
};

/** Where snapshots are read from. */
export type SnapshotSources = {
  /**
   * Connects to the store if that has not succeeded yet. If the driver's first connection fails, it refuses every
   * operation (`Topology is closed`) until `connect` is called again.
   */
  connect: () => Promise<unknown>;
  activeGeneration: (limits: ReadOptions) => Promise<ActiveGeneration | null>;
  watermark: (
    generation: number,
    limits: ReadOptions,
  ) => Promise<{ completeTo: Date | null; readAfter: StoreTime | null }>;
  /** The collections of the control database. */
  controlCollections: (limits: ReadOptions) => Promise<Collections>;
  structures: (database: Db, limits: ReadOptions) => Promise<Structures>;
  databasesOf: (generation: number) => Databases;
};

type SnapshotDeps = SnapshotSources & { logger: Logger; nowMs: () => number };

type ReadDeps = SnapshotDeps & {
  /** Receives the active generation, as the registry names it. */
  logRegistry: (active: Pick<ActiveGeneration, 'generation' | 'acceptOlder'>) => void;
};

/** How long a snapshot is used, and the pause after a failure to read one. */
const lifetimeMs = 1_000;

/** The results of the reads so far. */
type Cache = {
  /** The last snapshot, and when its read began. */
  latest: { snapshot: ReadSnapshot; readMs: number } | null;
  /** Why the last read failed, and when; null if it succeeded. */
  failure: { error: unknown; readMs: number } | null;
  /** The active generation, if this replica does not serve it yet because it lags. */
  awaited: number | null;
};

export function createReadSnapshots(sources: SnapshotDeps): ReadSnapshots {
  const cache: Cache = { latest: null, failure: null, awaited: null };
  const logRegistry = logChanges(sources.logger, 'registry');
  let pending: Promise<ReadSnapshot> | null = null;

  const refresh = async (): Promise<ReadSnapshot> => {
    const readMs = sources.nowMs();
    try {
      const snapshot = await readRepeatedly(
        (limits) => withDeadline(readSnapshot({ ...sources, logRegistry }, cache, limits)),
        sayOnce(sources.logger, cache),
      );
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
    lastGeneration: () => cache.latest?.snapshot.generation ?? null,
    current: async () => {
      const { latest, failure } = cache;
      const isFresh = (readMs: number) => sources.nowMs() - readMs < lifetimeMs;
      if (latest && !failure && isFresh(latest.readMs)) return latest.snapshot;
      if (!failure) return (pending ??= refresh());
      if (!isFresh(failure.readMs)) (pending ??= refresh()).catch(() => undefined);
      throw failure.error;
    },
  };
}

/**
 * Names the reason of the first repetition in the log, unless MongoDB was away before: the readiness poll has named it
 * then.
 */
function sayOnce(logger: Logger, { failure }: Cache): (error: unknown) => void {
  let isSaid = failure !== null;
  return (error) => {
    if (!isSaid) logger.warn({ reason: errorMessage(error) }, 'MongoDB is unavailable; reads are repeated');
    isSaid = true;
  };
}

/**
 * Reads the active generation and its watermark. After a switch the old generation is served until the new one has
 * reached the watermark that clients have seen, so that `Data-As-Of` never goes back, unless the operator accepted
 * that.
 */
async function readSnapshot(sources: ReadDeps, cache: Cache, limits: ReadOptions): Promise<ReadSnapshot> {
  await sources.connect();
  const active = await sources.activeGeneration(limits);
  if (active === null) throw new StoreUnavailable('no generation is active yet');
  const { generation, acceptOlder, manifests } = active;
  sources.logRegistry({ generation, acceptOlder });
  const previous = cache.latest?.snapshot;
  const isServed = previous?.generation === generation;
  const databases = isServed ? previous : sources.databasesOf(generation);
  const { collections, faults } = await sources.structures(databases.authDatabase, limits);
  const lacking = faults.map(describeIndexFault);
  const lost = missing('control', servedOnly(manifests.control), await sources.controlCollections(limits));
  lost.push(...missing(`generation ${generation}`, manifests.documents, collections));
  const { completeTo, readAfter } = await sources.watermark(generation, limits);
  // Its documents may be of any age, or absent. The generation before may be dropped by now.
  if (completeTo === null) throw new StoreUnavailable(`generation ${generation} has no watermark`);
  if (lost.length > 0 && (isServed || !previous || lost.some(({ database }) => database === 'control')))
    throw new StoreUnavailable(`collections are lost: ${describeLost(lost)}`);
  if (lacking.length > 0 && (isServed || !previous))
    throw new StoreUnavailable(`generation ${generation} lacks indexes: ${lacking.join(', ')}`);
  const read = { generation, readAfter, collections };
  if (isServed) {
    cache.awaited = null;
    const latest = completeTo > previous.dataAsOf ? completeTo : previous.dataAsOf;
    return { ...previous, ...read, dataAsOf: latest };
  }
  const isBehind = previous && completeTo < previous.dataAsOf && !acceptOlder;
  if (previous && (isBehind || lacking.length > 0 || lost.length > 0)) {
    if (cache.awaited !== generation)
      sources.logger.info(
        {
          awaited: generation,
          dataAsOf: completeTo,
          served: previous.generation,
          servedDataAsOf: previous.dataAsOf,
          missing: lacking,
        },
        'the active generation lags the served one, or lacks indexes; it is served once it has caught up',
      );
    cache.awaited = generation;
    return previous;
  }
  cache.awaited = null;
  sources.logger.info({ generation }, 'serving generation');
  return { ...databases, ...read, dataAsOf: completeTo };
}

/** The part of a manifest without which no answer is right. */
const servedOnly = (manifest: Manifest): Manifest =>
  Object.fromEntries(Object.entries(manifest).filter(([name]) => servedFrom.includes(name)));
