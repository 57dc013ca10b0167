import type { Document } from 'mongodb';
import type { Caller } from '../auth/caller.ts';
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
  /** Rejects with `StoreUnavailable` if the generation was dropped: its collections read as empty then. */
  requireGeneration: (generation: number) => Promise<void>;
  nowMs: () => number;
};

/** Creates the reader of each request. All readers together stay within the budget. */
export function createReaders({ scanEntriesMax, requireGeneration, nowMs, budget }: ReaderDeps) {
  const expected = createExpectedBytes(nowMs);
  const findDocument = createDocumentFinder();
  const findThread = createThreadFinder();
  return (caller: Caller, snapshot: DataSnapshot) => {
    const { orgId } = caller;
    const held = createHoldings((bytes) => budget.count(caller, bytes));
    const admit = async <T extends Reply>(reading: Reading, run: () => Promise<T>): Promise<T> => {
      if (held.isEnded()) throw new StoreUnavailable('the client has left');
      const bytes = expected.estimate(orgId, reading);
      await budget.acquire(caller, bytes, held);
      try {
        const reply = await run();
        expected.record(orgId, reading.kind, reply);
        return reply;
      } finally {
        budget.release(caller, bytes);
      }
    };
    return {
      ...held,
      /** Releases everything: the client has taken the response, or has left. */
      end: () => {
        held.end();
        budget.leave(held);
      },
      database: snapshot.database,
      scanEntriesMax,
      requireGeneration: () => requireGeneration(snapshot.generation),
      /** Runs a read once the budget admits it. */
      read: <T extends Reply>(reading: Reading, run: (options: ReadDataOptions) => Promise<T>) =>
        admit(reading, () => readData(snapshot, run)),
      /** Finds a document of the organization by its id; null if there is none, and its generation exists. Requests share queries. */
      find: async (shape: Shape, id: string): Promise<Document | null> => {
        const reading = { kind: shape.kind, items: 1 };
        const { found } = await admit(reading, () => findDocument(snapshot, shape, { orgId, id }));
        if (!found) await requireGeneration(snapshot.generation);
        return found;
      },
      /** Finds the first messages of a conversation of the organization. Requests share queries. */
      findThread: async (conversationId: string): Promise<ThreadStart> => {
        const reading = { kind: 'message', items: threadBatchSize } as const;
        const start = await admit(reading, () => findThread(snapshot, { orgId, conversationId }));
        if (start.messages.length === 0) await requireGeneration(snapshot.generation);
        return start;
      },
    };
  };
}

/** Counts the bytes that one request keeps in memory. */
function createHoldings(count: (bytes: number) => void) {
  let holdings = new Set<object>();
  let held = 0;
  let isEnded = false;
  const change = (bytes: number) => {
    held += bytes;
    count(bytes);
  };
  return {
    isEnded: () => isEnded,
    /** Counts bytes that the request keeps in memory. The returned function releases them. */
    hold: (bytes: number) => {
      if (isEnded) return () => undefined;
      const holding = {};
      holdings.add(holding);
      change(bytes);
      return () => {
        if (holdings.delete(holding)) change(-bytes);
      };
    },
    /** Counts the bytes of the response text in place of everything that the request held. */
    holdOnly: (bytes: number) => {
      holdings = new Set();
      if (!isEnded) change(bytes - held);
    },
    end: () => {
      isEnded = true;
      holdings = new Set();
      change(-held);
    },
  };
}
