import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** A sampled event. */
export type Sample = {
  kind: Kind;
  id: string;
  version: number;
  /** When it was passed to the producer, as `performance.now()`. */
  publishedMs: number;
  /** The time until a reader first saw this version or a later one; null while none has. */
  latencyMs: number | null;
};

/** The time between two queries. A latency is too long by this and the time of a query, at most. */
const pollMs = 10;
/** The maximum number of samples in one query, the oldest first. */
const samplesMax = 200;

/** Polls the store for samples, collection by collection. It sends no query while no sample waits. */
export function watchReadable(database: Db) {
  let waiting: Sample[] = [];
  let isOver = false;

  const query = async (kind: Kind, max = samplesMax) => {
    const queried = waiting.filter((sample) => sample.kind === kind).slice(0, max);
    const found = await collectionOf(database, kind)
      .find({ _id: { $in: queried.map(({ id }) => id) } }, { projection: { version: 1 } })
      .toArray();
    const seenMs = performance.now();
    const versions = new Map(found.map(({ _id, version }) => [_id, version]));
    for (const sample of queried) {
      if ((versions.get(sample.id) ?? 0) >= sample.version) sample.latencyMs = seenMs - sample.publishedMs;
    }
  };
  const watch = async () => {
    while (!isOver) {
      for (const kind of new Set(waiting.map((sample) => sample.kind))) await query(kind);
      waiting = waiting.filter(({ latencyMs }) => latencyMs === null);
      await sleep(pollMs);
    }
  };
  const watching = watch();
  // `finish` throws the error of a failed query.
  watching.catch(() => undefined);

  return {
    add: (sample: Sample): void => void waiting.push(sample),
    /** Queries a last time; returns the number of unreadable samples. Call it once every event is applied. */
    finish: async (): Promise<number> => {
      isOver = true;
      await watching;
      for (const kind of new Set(waiting.map((sample) => sample.kind))) await query(kind, waiting.length);
      return waiting.filter(({ latencyMs }) => latencyMs === null).length;
    },
  };
}
