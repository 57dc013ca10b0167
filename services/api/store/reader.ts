import type { Document } from 'mongodb';
import type { Caller } from '../auth/caller.ts';
import type { OnUnreadable } from '../paging/readable.ts';
import type { RequireCollections } from './collection-check.ts';
import { createExpectedBytes, type Reading, type Reply } from './expected-bytes.ts';
import { createDocumentFinder, type Shape } from './find-document.ts';
import { createThreadFinder, threadBatchSize, type ThreadStart } from './find-threads.ts';
import { readData, type ReadDataOptions } from './read-data.ts';
import type { ReadBudget } from './read-budget.ts';
import type { DataSnapshot } from './read-snapshot.ts';
import { StoreUnavailable } from './store-errors.ts';

export type OpenReader = ReturnType<typeof createReaders>;
/** Reads the generation's database for one request, and counts the memory that the request holds. */
export type StoreReader = ReturnType<OpenReader>;

type ReaderDeps = {
  budget: ReadBudget;
  /** Index entries that the store may examine for one page. */
  scanEntriesMax: number;
  requireCollections: RequireCollections;
  onUnreadable: OnUnreadable;
  nowMs: () => number;
};

/** Creates the reader of each request. All readers together stay within the budget. */
export function createReaders(deps: ReaderDeps) {
  const { budget, scanEntriesMax, requireCollections, onUnreadable, nowMs } = deps;
  const expected = createExpectedBytes(nowMs);
  const findDocument = createDocumentFinder();
  const findThread = createThreadFinder();
  return (caller: Caller, snapshot: DataSnapshot) => {
    const { orgId } = caller;
    const request = {};
    let held = 0;
    let hasEnded = false;
    const count = (bytes: number) => {
      if (hasEnded) return;
      held += bytes;
      budget.count(caller, bytes);
    };
    const admit = async <T extends Reply>(reading: Reading, run: () => Promise<T>): Promise<T> => {
      if (hasEnded) throw new StoreUnavailable('the client has left');
      const bytes = expected.estimate(orgId, reading);
      await budget.acquire(caller, bytes, request);
      try {
        const reply = await run();
        expected.record(orgId, reading.kind, reply);
        return reply;
      } finally {
        budget.release(caller, bytes);
      }
    };
    return {
      /** Counts bytes that the request keeps in memory. The returned function releases them, and is called once. */
      hold: (bytes: number) => {
        count(bytes);
        return () => count(-bytes);
      },
      /** Releases everything: the client has taken the response, or has left. */
      end: () => {
        // Before there is room for them.
        budget.leave(request);
        count(-held);
        hasEnded = true;
      },
      database: snapshot.database,
      scanEntriesMax,
      onUnreadable,
      /** Called after a read that has found nothing, which counts only if its collection exists. */
      requireCollections: () => requireCollections(snapshot),
      /** Runs a read once the budget admits it. */
      read: <T extends Reply>(reading: Reading, run: (options: ReadDataOptions) => Promise<T>) =>
        admit(reading, () => readData(snapshot, run)),
      /** Finds a document of the organization by its id; null if there is none, and its collection exists. Requests share queries. */
      find: async (shape: Shape, id: string): Promise<Document | null> => {
        const reading = { kind: shape.kind, items: 1 };
        const { documents } = await admit(reading, () => findDocument(snapshot, shape, { orgId, id }));
        const [found] = documents;
        if (!found) await requireCollections(snapshot);
        return found ?? null;
      },
      /** Finds the first messages of a conversation of the organization. Requests share queries. */
      findThread: async (conversationId: string): Promise<ThreadStart> => {
        const reading = { kind: 'message', items: threadBatchSize } as const;
        const start = await admit(reading, () => findThread(snapshot, { orgId, conversationId }));
        if (start.documents.length === 0) await requireCollections(snapshot);
        return start;
      },
    };
  };
}
