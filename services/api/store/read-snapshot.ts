import type { ClusterTime, Db, Timestamp } from 'mongodb';
import {
  collectionsOfAnswers,
  compareWithManifest,
  describeLost,
  type LostCollection,
  type Manifest,
} from '../../../shared/control/manifest.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { logChanges } from '../../../shared/runtime/log-changes.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { type Collections, describeIndexFault, type IndexFault } from '../../../shared/store/structures.ts';
import { type ReadOptions, readWithRetries, withDeadline } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The data that one request is answered from: a generation's database, and its watermark, which was read first. */
export type ReadSnapshot = Databases & {
  generation: number;
  /** The watermark; 1970 during the first load, when the projectors have not applied the whole log yet. */
  dataAsOf: Date;
  /** When the watermark was read, for data from secondaries. Null if data come from the primary. */
  readAfter: StoreTime | null;
  /** The ids of the generation's collections, read before the watermark. A replaced collection has a new id later. */
  collections: Collections;
};

/** A point in the history of a replica set or sharded cluster. */
export type StoreTime = { operationTime: Timestamp; clusterTime: ClusterTime };

/** The part of a snapshot that reads of data need. */
export type DataSnapshot = Omit<ReadSnapshot, 'dataAsOf'>;

/** A generation's database on two connection pools. On one pool, reads of data would delay authentication. */
export type Databases = { database: Db; authDatabase: Db };

export type ReadSnapshots = {
  /** The watermark of the last snapshot; 1970 before the first. */
  lastDataAsOf: () => Date;
  /** The generation of the last snapshot; null before the first. */
  lastGeneration: () => number | null;
  /**
   * Returns a snapshot at most a second old. After a failure, requests get its error immediately and do not wait for a
   * silent store. Once a second, a request starts another read, until a read succeeds.
   */
  current: () => Promise<ReadSnapshot>;
};

/** The generation to be served, as the registry names it. */
type ActiveGeneration = {
  generation: number;
  /** Whether an operator accepted that it lags the generation that was active before. */
  acceptOlder: boolean;
  /** The collections that must exist, of the control database and of the generation. */
  manifests: { control: Manifest; documents: Manifest };
};

/** The collections and indexes of a generation, as its snapshot finds them. */
export type Structures = {
  /** The collections that the API reads. */
  collections: Collections;
  /** Indexes that reads need, but that are missing or hidden. */
  faults: IndexFault[];
};

/** Reads the parts of a snapshot. */
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

type SnapshotReadDeps = SnapshotDeps & {
  /** Receives the active generation, as the registry names it. */
  logRegistry: (active: Pick<ActiveGeneration, 'generation' | 'acceptOlder'>) => void;
};

/** How long requests use a snapshot, and the pause after a failure to read one. */
const lifetimeMs = 1_000;

/** The results of the reads so far. */
type SnapshotCache = {
  /** The last snapshot, and when its read began. */
  latest: { snapshot: ReadSnapshot; readMs: number } | null;
  /** Why the last read failed, and when; null if it succeeded. */
  failure: { error: unknown; readMs: number } | null;
  /** The active generation, if this replica does not serve it yet because it lags. */
  awaited: number | null;
};

export function createReadSnapshots(sources: SnapshotDeps): ReadSnapshots {
  const cache: SnapshotCache = { latest: null, failure: null, awaited: null };
  const logRegistry = logChanges(sources.logger, 'registry');
  let refreshing: Promise<ReadSnapshot> | null = null;

  const refresh = async (): Promise<ReadSnapshot> => {
    const readMs = sources.nowMs();
    try {
      const snapshot = await readWithRetries(
        (limits) => withDeadline(readSnapshot({ ...sources, logRegistry }, cache, limits)),
        createRetryLog(sources.logger, cache),
      );
      cache.latest = { snapshot, readMs };
      cache.failure = null;
      return snapshot;
    } catch (error) {
      cache.failure = { error, readMs: sources.nowMs() };
      throw error;
    } finally {
      refreshing = null;
    }
  };

  /** Joins the read that is in progress, if there is one. */
  const refreshOnce = (): Promise<ReadSnapshot> => {
    refreshing ??= refresh();
    return refreshing;
  };

  return {
    lastDataAsOf: () => cache.latest?.snapshot.dataAsOf ?? new Date(0),
    lastGeneration: () => cache.latest?.snapshot.generation ?? null,
    current: async () => {
      const { latest, failure } = cache;
      const isFresh = (readMs: number) => sources.nowMs() - readMs < lifetimeMs;
      if (latest && !failure && isFresh(latest.readMs)) return latest.snapshot;
      if (!failure) return refreshOnce();
      if (!isFresh(failure.readMs)) refreshOnce().catch(() => undefined);
      throw failure.error;
    },
  };
}

/**
 * Creates the function that logs the reason of the first retry. The function logs nothing if the previous read has
 * failed, because the readiness poll has logged that reason.
 */
function createRetryLog(logger: Logger, { failure }: SnapshotCache): (error: unknown) => void {
  let isLogged = failure !== null;
  return (error) => {
    if (!isLogged) logger.warn({ reason: errorMessage(error) }, 'MongoDB is unavailable; reads are repeated');
    isLogged = true;
  };
}

/**
 * Reads the active generation and its watermark. After a switch of the active generation, the replica keeps the served
 * one until the new one has all collections and indexes, and has reached the watermark that clients have seen. So
 * `Data-As-Of` never goes back, unless the operator accepted that.
 */
async function readSnapshot(
  sources: SnapshotReadDeps,
  cache: SnapshotCache,
  limits: ReadOptions,
): Promise<ReadSnapshot> {
  await sources.connect();
  const active = await sources.activeGeneration(limits);
  if (active === null) throw new StoreUnavailable('no generation is active yet');
  const { generation, acceptOlder } = active;
  sources.logRegistry({ generation, acceptOlder });
  const latest = cache.latest?.snapshot ?? null;
  if (latest?.generation === generation) {
    const found = await readGeneration(sources, active, latest, limits);
    requireComplete(found);
    cache.awaited = null;
    return { ...found.snapshot, dataAsOf: laterOf(found.snapshot.dataAsOf, latest.dataAsOf) };
  }
  const found = await readGeneration(sources, active, sources.databasesOf(generation), limits);
  if (latest === null) requireComplete(found);
  else requireControl(found);
  const lags = latest !== null && found.snapshot.dataAsOf < latest.dataAsOf && !acceptOlder;
  if (latest && (lags || !isComplete(found))) {
    logAwaited(sources.logger, cache, found, latest);
    return latest;
  }
  cache.awaited = null;
  sources.logger.info({ generation }, 'serving generation');
  return found.snapshot;
}

const laterOf = (a: Date, b: Date): Date => (a > b ? a : b);

/** The active generation, as it is stored now. */
type FoundGeneration = {
  snapshot: ReadSnapshot;
  /** The collections that must exist and do not, in the control database and in the generation. */
  lost: LostCollection[];
  /** The indexes that must exist and do not, in words. */
  lacking: string[];
};

async function readGeneration(
  sources: SnapshotReadDeps,
  active: ActiveGeneration,
  { database, authDatabase }: Databases,
  limits: ReadOptions,
): Promise<FoundGeneration> {
  const { generation } = active;
  const { collections, faults } = await sources.structures(authDatabase, limits);
  const lost = lostCollections(active, await sources.controlCollections(limits), collections);
  const { completeTo, readAfter } = await sources.watermark(generation, limits);
  // Its documents may be of any age, or absent. The generation before it may be dropped by now.
  if (completeTo === null) throw new StoreUnavailable(`generation ${generation} has no watermark`);
  const snapshot = { database, authDatabase, generation, dataAsOf: completeTo, readAfter, collections };
  return { snapshot, lost, lacking: faults.map(describeIndexFault) };
}

const isComplete = ({ lost, lacking }: FoundGeneration): boolean => lost.length === 0 && lacking.length === 0;

/** Throws if no request can be answered: the control database lacks a collection. */
function requireControl({ lost }: FoundGeneration): void {
  if (lost.some(({ database }) => database === 'control'))
    throw new StoreUnavailable(`collections are lost: ${describeLost(lost)}`);
}

/** Throws if the generation lacks a collection or an index, and no other generation can be served instead. */
function requireComplete({ snapshot, lost, lacking }: FoundGeneration): void {
  if (lost.length > 0) throw new StoreUnavailable(`collections are lost: ${describeLost(lost)}`);
  if (lacking.length > 0)
    throw new StoreUnavailable(`generation ${snapshot.generation} lacks indexes: ${lacking.join(', ')}`);
}

/** Logs once, for each switch, that this replica waits for the active generation. */
function logAwaited(
  logger: Logger,
  cache: SnapshotCache,
  { snapshot, lacking }: FoundGeneration,
  served: ReadSnapshot,
): void {
  const { generation: awaited, dataAsOf } = snapshot;
  if (cache.awaited === awaited) return;
  cache.awaited = awaited;
  logger.info(
    { awaited, dataAsOf, served: served.generation, servedDataAsOf: served.dataAsOf, missing: lacking },
    'the active generation lags the served one, or lacks indexes; it is served once it has caught up',
  );
}

/** The collections that must exist and do not, in the control database and in the active generation. */
const lostCollections = (
  { generation, manifests }: ActiveGeneration,
  control: Collections,
  documents: Collections,
): LostCollection[] => [
  ...compareWithManifest('control', manifestOfAnswers(manifests.control), control),
  ...compareWithManifest(`generation ${generation}`, manifests.documents, documents),
];

/**
 * The collections of a manifest that answers depend on. Without the others, such as the log of gaps, the API answers.
 */
const manifestOfAnswers = (manifest: Manifest): Manifest =>
  Object.fromEntries(Object.entries(manifest).filter(([name]) => collectionsOfAnswers.includes(name)));
