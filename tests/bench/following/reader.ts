import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Event } from '../../../infra/sample-data/encode.ts';
import type { StoredDocument } from '../../../services/projector/materialize/store.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** The interval at which the reader asks for its events, in milliseconds. It may add as much to each latency. */
const pollMs = 20;

type Awaited = { id: string; version: number; dueMs: number };

export type Reader = {
  /** Waits for the document to have the version of the event, or a later one. */
  awaits: (event: Event, dueMs: number) => void;
  /** Once the reader has all events, resolves to the milliseconds from each event's due instant until its read. */
  latenciesMs: () => Promise<number[]>;
};

/** Reads the documents of events by their ids until it finds the events in them. */
export function startReader(database: Db, failures: () => Error[]): Reader {
  const waiting = new Map<Kind, Set<Awaited>>();
  const latenciesMs: number[] = [];
  let isOver = false;
  const poll = async (kind: Kind, awaited: Set<Awaited>) => {
    const asked = [...awaited];
    if (asked.length === 0) return;
    const found = await collectionOf<StoredDocument>(database, kind)
      .find({ _id: { $in: asked.map(({ id }) => id) } })
      .project<{ _id: string; version: number }>({ version: 1 })
      .toArray();
    const nowMs = performance.now();
    const versions = new Map(found.map(({ _id, version }) => [_id, version]));
    for (const one of asked) {
      if ((versions.get(one.id) ?? 0) < one.version) continue;
      awaited.delete(one);
      latenciesMs.push(nowMs - one.dueMs);
    }
  };
  const run = async () => {
    while (!isOver || [...waiting.values()].some(({ size }) => size > 0)) {
      const [error] = failures();
      if (error) throw error;
      await Promise.all([...waiting].map(([kind, awaited]) => poll(kind, awaited)));
      await sleep(pollMs);
    }
  };
  const running = run();
  // A bench that fails elsewhere stops the projector, and does not come to await this.
  running.catch(() => undefined);
  return {
    awaits: ({ kind, id, version }, dueMs) => {
      const awaited = waiting.get(kind) ?? new Set();
      waiting.set(kind, awaited.add({ id, version, dueMs }));
    },
    latenciesMs: async () => {
      isOver = true;
      await running;
      return latenciesMs;
    },
  };
}
