import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../http/context.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';

/** Returns the caller of each hash that belongs to a key. */
export type LookUp = (snapshot: ReadSnapshot, hashes: string[]) => Promise<Map<string, Caller>>;

/** The result of a lookup, and when the store was queried, by `nowMs`. */
type Found = { caller: Caller | null; queriedMs: number };
type Waiting = {
  snapshot: ReadSnapshot;
  hash: string;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
};

/** Hashes per query. */
const batchMax = 256;
/** Pause after a query that contained an unknown token. */
const pauseMs = 10;

/**
 * Looks tokens up with one query at a time; tokens that arrive meanwhile share the next query. However many tokens a
 * client guesses, a replica queries the store at most 100 times a second, and a valid key waits about 10 ms.
 */
export function batchLookUps({
  lookUp,
  nowMs,
  pause = () => sleep(pauseMs),
}: {
  lookUp: LookUp;
  nowMs: () => number;
  pause?: () => Promise<unknown>;
}): (snapshot: ReadSnapshot, hash: string) => Promise<Found> {
  let waiting: Waiting[] = [];
  let isQuerying = false;

  const queryNext = async () => {
    const [{ snapshot }] = waiting as [Waiting];
    const batch = waiting
      .filter((lookup) => lookup.snapshot.generation === snapshot.generation)
      .slice(0, batchMax);
    const taken = new Set(batch);
    waiting = waiting.filter((lookup) => !taken.has(lookup));
    const queriedMs = nowMs();
    try {
      const apiKeys = await lookUp(snapshot, [...new Set(batch.map(({ hash }) => hash))]);
      for (const { hash, resolve } of batch) resolve({ caller: apiKeys.get(hash) ?? null, queriedMs });
      if (batch.some(({ hash }) => !apiKeys.has(hash))) await pause();
    } catch (error) {
      // An unresponsive store fails all waiting lookups at once; otherwise each would wait for its own timeout.
      for (const { reject } of [...batch, ...waiting.splice(0)]) reject(error);
    }
  };
  const queryAll = async () => {
    isQuerying = true;
    while (waiting.length > 0) await queryNext();
    isQuerying = false;
  };
  return (snapshot, hash) =>
    new Promise((resolve, reject) => {
      waiting.push({ snapshot, hash, resolve, reject });
      if (!isQuerying) void queryAll();
    });
}
