import type { Db, Document } from 'mongodb';
import type { Caller } from '../../../shared/keys/token-keys.ts';
import type { RequireCollections } from './collection-check.ts';
import { createExpectedBytes, type PlannedRead, type ReplySize } from './expected-bytes.ts';
import { createDocumentFinder, type DocumentShape } from './find-document.ts';
import { createThreadFinder, threadBatchSize, type ThreadStart } from './find-threads.ts';
import type { ReadBudget } from './read-budget.ts';
import { readData, type ReadDataOptions } from './read-data.ts';
import type { DataSnapshot } from './read-snapshot.ts';
import type { OnUnreadable } from './readable.ts';
import { StoreUnavailable } from './store-errors.ts';

/** Reads the generation's database for one request, and counts the memory that the request holds. */
export type StoreReader = {
  database: Db;
  /** Index entries that MongoDB may examine for one page. */
  scanEntriesMax: number;
  /** Receives each document that a list leaves out. */
  onUnreadable: OnUnreadable;
  /** Runs a read once the budget admits it. The sizes in its reply improve the estimate of later reads. */
  read: <T extends ReplySize>(planned: PlannedRead, send: SendCommands<T>) => Promise<T>;
  /** Runs a read of index keys. The estimate ignores their sizes, which do not depend on the size of documents. */
  readKeys: <T>(planned: PlannedRead, send: SendCommands<T>) => Promise<T>;
  /**
   * Finds a document of the organization by its id. Returns null if the collection exists without such a document.
   * Requests share queries.
   */
  find: (shape: DocumentShape, id: string) => Promise<Document | null>;
  /** Finds the first messages of a conversation of the organization. Requests share queries. */
  findThread: (conversationId: string) => Promise<ThreadStart>;
  /** Call it after an empty read: rejects if a collection of the snapshot is gone, which also reads as empty. */
  requireCollections: () => Promise<void>;
  /**
   * Counts bytes that the request keeps in memory. The caller calls the returned function once, which releases them.
   */
  hold: (bytes: number) => () => void;
  /** Releases everything: the client has taken the response, or has left. */
  end: () => void;
};

/** Sends the commands of a read. */
type SendCommands<T> = (options: ReadDataOptions) => Promise<T>;

/** Opens the reader of a request. */
export type OpenReader = (caller: Caller, snapshot: DataSnapshot) => StoreReader;

type ReaderDeps = Pick<StoreReader, 'scanEntriesMax' | 'onUnreadable'> & {
  budget: ReadBudget;
  requireCollections: RequireCollections;
  nowMs: () => number;
};

/** Creates the function that opens readers. All readers together stay within the budget. */
export function createReaders(deps: ReaderDeps): OpenReader {
  const { budget, scanEntriesMax, requireCollections, onUnreadable, nowMs } = deps;
  const expected = createExpectedBytes(nowMs);
  const findDocument = createDocumentFinder();
  const findThread = createThreadFinder();
  return (caller, snapshot) => {
    const { orgId } = caller;
    const request = {};
    const memory = createRequestMemory(budget, caller);
    const admit = async <T>(planned: PlannedRead, run: () => Promise<T>): Promise<T> => {
      if (memory.hasEnded()) throw new StoreUnavailable('the client has left');
      const bytes = expected.estimate(orgId, planned);
      await budget.acquire(caller, bytes, request);
      try {
        return await run();
      } finally {
        budget.release(caller, bytes);
      }
    };
    const measure = async <T extends ReplySize>(planned: PlannedRead, run: () => Promise<T>): Promise<T> => {
      const reply = await admit(planned, run);
      expected.record(orgId, planned.kind, reply);
      return reply;
    };
    return {
      database: snapshot.database,
      scanEntriesMax,
      onUnreadable,
      read: (planned, send) => measure(planned, () => readData(snapshot, send)),
      readKeys: (planned, send) => admit(planned, () => readData(snapshot, send)),
      find: async (shape, id) => {
        const planned = { kind: shape.kind, items: 1 };
        const { documents } = await measure(planned, () => findDocument(snapshot, shape, { orgId, id }));
        const [found] = documents;
        if (!found) await requireCollections(snapshot);
        return found ?? null;
      },
      findThread: async (conversationId) => {
        const planned = { kind: 'message', items: threadBatchSize } as const;
        const start = await measure(planned, () => findThread(snapshot, { orgId, conversationId }));
        if (start.documents.length === 0) await requireCollections(snapshot);
        return start;
      },
      requireCollections: () => requireCollections(snapshot),
      hold: memory.hold,
      end: () => {
        // Refuses the waiting reads of the request first: the memory that it frees would admit them.
        budget.leave(request);
        memory.end();
      },
    };
  };
}

/** Counts the bytes that one request holds, until it ends. */
function createRequestMemory(budget: ReadBudget, caller: Caller) {
  let held = 0;
  let hasEnded = false;
  const count = (bytes: number) => {
    if (hasEnded) return;
    held += bytes;
    budget.count(caller, bytes);
  };
  return {
    hasEnded: () => hasEnded,
    hold: (bytes: number) => {
      count(bytes);
      return () => count(-bytes);
    },
    end: () => {
      count(-held);
      hasEnded = true;
    },
  };
}
