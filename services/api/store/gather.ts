import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from './deadline.ts';

/** The result of one query, for all requests that share it. */
export type SharedResult<Wanted, Found> = {
  /** Returns the part of the result that one reader wants. */
  find: (wanted: Wanted) => Found;
  /** Pause before the next query of the group, in milliseconds. */
  pauseMs?: number;
};

/** Reads all that several readers want with one query. */
type SharedQuery<Wanted, Found> = (wanted: Wanted[]) => Promise<SharedResult<Wanted, Found>>;

/** Readers of one group may share queries, because they read the same snapshot under the same name. */
type QueryGroup = { snapshot: object; name: string };

/** A request that waits for its result. */
type Reader<Wanted, Found> = {
  wanted: Wanted;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
  /** True once its deadline has passed. Later queries then leave it out. */
  hasLeft?: true;
};

/** The maximum of readers that share a query. */
export const readersMax = 64;
/** After this time, a query no longer delays the next query of its group. */
const overdueMs = 20;

/** The documents that a reader of data receives. Each names its organization. */
type OwnedDocuments = { documents: readonly { orgId: string }[] };

/** A query that several requests share returned a document for a request of another organization: a bug. */
export class ForeignDocument extends Error {
  override readonly name = 'ForeignDocument';
}

/**
 * Shares queries for data among the requests of all organizations, as `createSharedQueries`. Rejects with
 * `ForeignDocument` if the query has found a document of another organization.
 */
export function createGather<Wanted extends { orgId: string }, Found extends OwnedDocuments>() {
  const share = createSharedQueries<Wanted, Found>();
  return async (group: QueryGroup, wanted: Wanted, query: SharedQuery<Wanted, Found>): Promise<Found> => {
    const found = await share(group, wanted, query);
    const foreign = found.documents.find(({ orgId }) => orgId !== wanted.orgId);
    if (foreign)
      throw new ForeignDocument(
        `a shared query of ${group.name} has found a document of ${foreign.orgId} for ${wanted.orgId}`,
      );
    return found;
  };
}

type SharingLimits = {
  /** The maximum number of queries in progress, of all groups. */
  queriesMax?: number;
  readersPerQuery?: number;
  /** Waits between queries; by default a timer. */
  pause?: ((ms: number) => Promise<unknown>) | undefined;
};

/**
 * Lets requests that read the same kind of thing share queries: few commands serve many small reads.
 *
 * The first reader of a group starts a query immediately. Readers that come while it is in progress share the next
 * query, which starts when the query before it has ended or is overdue, and fewer than `queriesMax` are in progress.
 * Only the readers of a query receive its error.
 */
export function createSharedQueries<Wanted, Found>({
  queriesMax = Infinity,
  readersPerQuery = readersMax,
  pause = sleep,
}: SharingLimits = {}) {
  type Waiting = Map<string, Reader<Wanted, Found>[]>;
  const waitingBySnapshot = new WeakMap<object, Waiting>();
  const inProgress = new Set<Promise<void>>();

  const run = async (readers: Reader<Wanted, Found>[], query: SharedQuery<Wanted, Found>) => {
    try {
      const { find, pauseMs } = await query(readers.map(({ wanted }) => wanted));
      for (const { wanted, resolve } of readers) resolve(find(wanted));
      if (pauseMs) await pause(pauseMs);
    } catch (error) {
      for (const { reject } of readers) reject(error);
    }
  };
  const queryAll = async (waiting: Waiting, name: string, query: SharedQuery<Wanted, Found>) => {
    const readers = waiting.get(name) ?? [];
    while (readers.length > 0) {
      while (inProgress.size >= queriesMax) await Promise.race(inProgress);
      const batch = readers.splice(0, readersPerQuery).filter(({ hasLeft }) => !hasLeft);
      if (batch.length === 0) continue;
      const running = run(batch, query).finally(() => inProgress.delete(running));
      inProgress.add(running);
      await Promise.race([running, pause(overdueMs)]);
    }
    waiting.delete(name);
  };
  /**
   * Returns the result for `wanted`. All readers of a group pass equivalent queries. Rejects with the error of the
   * query, or with `StoreUnavailable` after `readTimeoutMs`.
   */
  return (
    { snapshot, name }: QueryGroup,
    wanted: Wanted,
    query: SharedQuery<Wanted, Found>,
  ): Promise<Found> => {
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const reader: Reader<Wanted, Found> = { wanted, resolve, reject };
    const waiting: Waiting = waitingBySnapshot.get(snapshot) ?? new Map<string, Reader<Wanted, Found>[]>();
    waitingBySnapshot.set(snapshot, waiting);
    const readers = waiting.get(name);
    if (readers) {
      readers.push(reader);
    } else {
      waiting.set(name, [reader]);
      // It runs beside this request. It never rejects, because `run` gives each error to the readers.
      void queryAll(waiting, name, query);
    }
    return withDeadline(promise).catch((error: unknown) => {
      reader.hasLeft = true;
      throw error;
    });
  };
}
