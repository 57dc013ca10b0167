import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** An event whose effect is looked for. */
export type Sample = {
  kind: Kind;
  id: string;
  version: number;
  /** When it was handed to the producer, as `performance.now()`. */
  publishedMs: number;
  /** Until a reader first saw that version or a later one; null while none did. */
  latencyMs: number | null;
};

/** Between two looks; a latency is too long by this and the time of a query at most. */
const pollMs = 10;
/** How many samples one query asks for, the oldest first. */
const askedMax = 200;

/** Watches the store for samples: a query a collection at a time, and none while nothing is waited for. */
export function watchReadable(database: Db) {
  let waiting: Sample[] = [];
  let isOver = false;

  const lookAt = async (kind: Kind, most = askedMax) => {
    const asked = waiting.filter((sample) => sample.kind === kind).slice(0, most);
    const found = await collectionOf(database, kind)
      .find({ _id: { $in: asked.map(({ id }) => id) } }, { projection: { version: 1 } })
      .toArray();
    const seenMs = performance.now();
    const versions = new Map(found.map(({ _id, version }) => [_id, version]));
    for (const sample of asked) {
      if ((versions.get(sample.id) ?? 0) >= sample.version) sample.latencyMs = seenMs - sample.publishedMs;
    }
  };
  const watch = async () => {
    while (!isOver) {
      for (const kind of new Set(waiting.map((sample) => sample.kind))) await lookAt(kind);
      waiting = waiting.filter(({ latencyMs }) => latencyMs === null);
      await sleep(pollMs);
    }
  };
  const watching = watch();
  // A query that failed is thrown by `finish`.
  watching.catch(() => undefined);

  return {
    add: (sample: Sample): void => void waiting.push(sample),
    /** Looks a last time; gives how many samples cannot be read. To be called once every event is applied. */
    finish: async (): Promise<number> => {
      isOver = true;
      await watching;
      for (const kind of new Set(waiting.map((sample) => sample.kind))) await lookAt(kind, waiting.length);
      return waiting.filter(({ latencyMs }) => latencyMs === null).length;
    },
  };
}
