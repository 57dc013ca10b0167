import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Event } from '../../../infra/sample-data/encode.ts';
import type { StoredDocument } from '../../../services/projector/materialize/store.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** The interval at which the reader looks for its events. Each latency may be too long by this time. */
const pollMs = 20;

type Awaited = { id: string; version: number; dueMs: number };

export type Reader = {
  /** Makes the reader wait until the document has the version of the event, or a later one. */
  waitFor: (event: Event, dueMs: number) => void;
  /** Once the reader has all events, resolves to the milliseconds from each event's due instant until its read. */
  latenciesMs: () => Promise<number[]>;
};

/** Reads the documents of events by their ids until it finds the events in them. */
export function startReader(database: Db, failures: () => Error[]): Reader {
  const awaitedByKind = new Map<Kind, Set<Awaited>>();
  const latenciesMs: number[] = [];
  let isOver = false;
  const poll = async (kind: Kind, awaited: Set<Awaited>) => {
    // The source may add events while the read is in progress.
    const wanted = [...awaited];
    if (wanted.length === 0) return;
    const documents = await collectionOf<StoredDocument>(database, kind)
      .find({ _id: { $in: wanted.map(({ id }) => id) } })
      .project<{ _id: string; version: number }>({ version: 1 })
      .toArray();
    const nowMs = performance.now();
    const versions = new Map(documents.map(({ _id, version }) => [_id, version]));
    for (const event of wanted) {
      if ((versions.get(event.id) ?? 0) < event.version) continue;
      awaited.delete(event);
      latenciesMs.push(nowMs - event.dueMs);
    }
  };
  const run = async () => {
    while (!isOver || [...awaitedByKind.values()].some(({ size }) => size > 0)) {
      const [error] = failures();
      if (error) throw error;
      await Promise.all([...awaitedByKind].map(([kind, awaited]) => poll(kind, awaited)));
      await sleep(pollMs);
    }
  };
  const running = run();
  // A benchmark that fails elsewhere never awaits `running`, so a rejection would end the process as unhandled.
  running.catch(() => undefined);
  return {
    waitFor: ({ kind, id, version }, dueMs) => {
      const awaited = awaitedByKind.get(kind) ?? new Set();
      awaitedByKind.set(kind, awaited.add({ id, version, dueMs }));
    },
    latenciesMs: async () => {
      isOver = true;
      await running;
      return latenciesMs;
    },
  };
}
