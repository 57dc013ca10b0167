import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import type { Caller } from './api-key-cache.ts';

/** The callers of those among the hashes that are a key's. */
export type LookUp = (snapshot: ReadSnapshot, hashes: string[]) => Promise<Map<string, Caller>>;

/** What was found, and when the store was asked, by the caller's clock. */
type Found = { caller: Caller | null; askedMs: number };
type Waiting = {
  snapshot: ReadSnapshot;
  hash: string;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
};

/** Hashes in one query. */
const batchMax = 256;
/** How long the store is left alone after a query that met an unknown token, in milliseconds. */
const pauseMs = 10;

/**
 * Looks tokens up by one query at a time: those that come meanwhile share the next one. However many tokens are
 * guessed, a replica asks the store at most 100 times a second, and a valid key waits its turn for some 10 ms.
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
  let isAsking = false;

  const askNext = async () => {
    const [{ snapshot }] = waiting as [Waiting];
    const batch = waiting.filter((one) => one.snapshot.generation === snapshot.generation).slice(0, batchMax);
    const taken = new Set(batch);
    waiting = waiting.filter((one) => !taken.has(one));
    const askedMs = nowMs();
    try {
      const apiKeys = await lookUp(snapshot, [...new Set(batch.map(({ hash }) => hash))]);
      for (const { hash, resolve } of batch) resolve({ caller: apiKeys.get(hash) ?? null, askedMs });
      if (batch.some(({ hash }) => !apiKeys.has(hash))) await pause();
    } catch (error) {
      // Whoever waits meanwhile would wait as long again: a store that is silent fails them all at once.
      for (const { reject } of [...batch, ...waiting.splice(0)]) reject(error);
    }
  };
  const askAll = async () => {
    isAsking = true;
    while (waiting.length > 0) await askNext();
    isAsking = false;
  };
  return (snapshot, hash) =>
    new Promise((resolve, reject) => {
      waiting.push({ snapshot, hash, resolve, reject });
      if (!isAsking) void askAll();
    });
}
