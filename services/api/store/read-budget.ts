import type { Caller } from '../../../shared/keys/token-keys.ts';
import { createUseCounter, isWithinShare } from '../fair-share.ts';
import { readTimeoutMs } from './deadline.ts';
import { Overloaded, StoreUnavailable } from './store-errors.ts';

/** The largest reply of MongoDB, and therefore the maximum size of a page while it is read. */
export const replyBytesMax = 16 * 1_024 * 1_024;

/** The largest document. */
export const documentBytesMax = 12 * 1_024 * 1_024;

/** The estimate for a single document without recent reads. Larger documents are very rare. */
export const documentBytes = 4 * 1_024 * 1_024;

/** A read that waits for capacity. */
type WaitingRead = {
  caller: Caller;
  /** Its expected size. */
  bytes: number;
  /** Its request, whose client may leave. */
  request: object | undefined;
  admit: () => void;
  refuse: (error: Error) => void;
};

type BudgetLimits = {
  /** Bytes that all responses in progress may hold. */
  bytesMax: number;
  /** Size of the pool that reads take connections from. */
  connectionsMax: number;
  /** How long a read waits for capacity. */
  waitMs?: number;
};

/** The use of the budget by this process. */
export type BudgetUsage = {
  /** Reads in progress. */
  reads: number;
  /** Bytes held. */
  bytes: number;
  /** Reads that wait for capacity. */
  waiting: number;
};

export type ReadBudget = {
  /** Counts a read of `bytes` once the budget has capacity. Rejects with `Overloaded` after the time limit. */
  acquire: (caller: Caller, bytes: number, request?: object) => Promise<void>;
  /** Ends a read that was counted. */
  release: (caller: Caller, bytes: number) => void;
  /** Rejects the waiting reads of a request whose client has left. */
  leave: (request: object) => void;
  /** Counts bytes that stay in memory; a negative number releases them. */
  count: (caller: Caller, bytes: number) => void;
  usage: () => BudgetUsage;
  /** Whether more than half of the bytes are held. */
  isHalfUsed: () => boolean;
};

/**
 * Limits the memory of all responses in progress. A read counts by its expected reply while it runs; then the bytes
 * count that the response keeps until its client has taken it. Further reads wait in a queue. One organization, and
 * each of its keys, gets only a share of the bytes, and never every connection, so it cannot make the others wait.
 */
export function createReadBudget({
  bytesMax,
  connectionsMax,
  waitMs = readTimeoutMs,
}: BudgetLimits): ReadBudget {
  const { reads, bytesHeld, add, hasCapacity, mayRead } = createCapacity(bytesMax, connectionsMax);
  const waiting = new Set<WaitingRead>();
  const admitWaiting = () => {
    for (const read of waiting) {
      if (!mayRead(read.caller, read.bytes)) continue;
      // A read that does not fit blocks the reads after it; otherwise small reads could starve it.
      if (!hasCapacity(read.bytes)) return;
      add(read.caller, 1, read.bytes);
      waiting.delete(read);
      read.admit();
    }
  };
  return {
    acquire: async (caller, bytes, request) => {
      if (waiting.size === 0 && mayRead(caller, bytes) && hasCapacity(bytes)) {
        add(caller, 1, bytes);
        return;
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const refuse = (error: Error) => {
        waiting.delete(read);
        reject(error);
      };
      const read: WaitingRead = { caller, bytes, request, admit: resolve, refuse };
      waiting.add(read);
      admitWaiting();
      const expire = () => {
        const limit = hasCapacity(bytes) && !mayRead(caller, bytes) ? 'share' : 'memory';
        refuse(new Overloaded(limit, `no capacity for a read within ${waitMs} ms`));
        // The refused read may have blocked the reads after it.
        admitWaiting();
      };
      const timer = setTimeout(expire, waitMs).unref();
      return promise.finally(() => clearTimeout(timer));
    },
    leave: (request) => {
      for (const read of waiting) {
        if (read.request === request) read.refuse(new StoreUnavailable('the client has left'));
      }
      admitWaiting();
    },
    release: (caller, bytes) => {
      add(caller, -1, -bytes);
      admitWaiting();
    },
    count: (caller, bytes) => {
      bytesHeld.add(caller, bytes);
      if (bytes < 0) admitWaiting();
    },
    usage: () => ({ reads: reads.all(), bytes: bytesHeld.all(), waiting: waiting.size }),
    isHalfUsed: () => bytesHeld.all() > bytesMax / 2,
  };
}

/** The reads in progress and the bytes that are held, of all callers and of each one. */
function createCapacity(bytesMax: number, connectionsMax: number) {
  const reads = createUseCounter();
  const bytesHeld = createUseCounter();
  return {
    reads,
    bytesHeld,
    add: (caller: Caller, count: number, bytes: number) => {
      reads.add(caller, count);
      bytesHeld.add(caller, bytes);
    },
    hasCapacity: (bytes: number) => reads.all() < connectionsMax && bytesHeld.all() + bytes <= bytesMax,
    mayRead: (caller: Caller, bytes: number) => {
      const { byOrganization, byKey } = reads.of(caller);
      const hasConnection =
        byOrganization < Math.max(1, connectionsMax - 1) && byKey < Math.max(1, connectionsMax - 2);
      return hasConnection && isWithinShare(bytesMax, bytes, bytesHeld.of(caller));
    },
  };
}
