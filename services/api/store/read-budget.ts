import type { Caller } from '../auth/caller.ts';
import { createCounts, type Counts } from '../counts.ts';
import { readTimeoutMs } from './deadline.ts';
import { Overloaded, StoreUnavailable } from './store-errors.ts';

/** The largest reply of the store, and therefore the maximum size of a page while it is read. */
export const replyBytesMax = 16 * 1_024 * 1_024;

/** The largest document. */
export const documentBytesMax = 12 * 1_024 * 1_024;

/** The expected maximum of a single document. Larger ones are very rare. */
export const documentBytes = 4 * 1_024 * 1_024;

type Waiting = {
  caller: Caller;
  bytes: number;
  request: object | undefined;
  admit: () => void;
  refuse: (error: Error) => void;
};

export type ReadBudget = ReturnType<typeof createReadBudget>;

type Limits = {
  /** Bytes that all responses in progress may hold. */
  bytesMax: number;
  /** Size of the pool that reads take connections from. */
  connectionsMax: number;
  /** How long a read waits for room. */
  waitMs?: number;
};

/**
 * Returns the part of a limit that one of several may use: the limit divided by `parts`, and once half of it is in use the
 * rest divided by `parts`. A user without any may always start. So the next one has room, however many others hold
 * their shares.
 */
const fairShare = (limit: number, used: number, parts: number): number =>
  (used < limit / 2 ? limit : limit - used) / parts;

/**
 * Whether a caller may use `more` of a limit: its organization a quarter, and its key a half of that. So a key that does
 * not take its responses leaves room for the other keys of its organization. While less than half of the limit is in
 * use, `more` may exceed a share that is not used up: the reads of a key then start in the order in which they came.
 * Otherwise its small reads could pass its large one for ever.
 */
export function isWithinShare(limit: number, more: number, used: Use): boolean {
  const isScarce = used.all >= limit / 2;
  const isWithin = (own: number, share: number) =>
    own === 0 || (isScarce ? own + more <= share : own < share);
  const share = fairShare(limit, used.all, 4);
  return isWithin(used.org, share) && isWithin(used.key, fairShare(share, used.org, 2));
}

type Use = { all: number; org: number; key: number };

/** Counts the use of a limit: by all callers together, each organization and each key. */
export function createUse() {
  const organizations = createCounts<string>();
  /** By organization. An organization without any use takes no memory. */
  const keys = new Map<string, Counts<string>>();
  let all = 0;
  return {
    all: () => all,
    of: ({ orgId, keyId }: Caller): Use => ({
      all,
      org: organizations.count(orgId),
      key: keys.get(orgId)?.count(keyId) ?? 0,
    }),
    add: ({ orgId, keyId }: Caller, more: number) => {
      all += more;
      organizations.add(orgId, more);
      const own = keys.get(orgId) ?? createCounts<string>();
      own.add(keyId, more);
      if (organizations.count(orgId) === 0) keys.delete(orgId);
      else keys.set(orgId, own);
    },
  };
}

/**
 * Limits the memory of all responses in progress: the expected reply of each read, then the bytes kept until the client
 * has taken the response. Further reads wait in a queue. One organization, and each of its keys, may hold its share of the
 * bytes and never every connection, so that it cannot make the others wait.
 */
export function createReadBudget({ bytesMax, connectionsMax, waitMs = readTimeoutMs }: Limits) {
  const reads = createUse();
  const bytesHeld = createUse();
  const waiting = new Set<Waiting>();
  const add = (caller: Caller, count: number, bytes: number) => {
    reads.add(caller, count);
    bytesHeld.add(caller, bytes);
  };
  const hasRoom = (bytes: number) => reads.all() < connectionsMax && bytesHeld.all() + bytes <= bytesMax;
  const mayRead = (caller: Caller, bytes: number) => {
    const { org, key } = reads.of(caller);
    const hasConnection = org < Math.max(1, connectionsMax - 1) && key < Math.max(1, connectionsMax - 2);
    return hasConnection && isWithinShare(bytesMax, bytes, bytesHeld.of(caller));
  };

  const admitWaiting = () => {
    for (const read of waiting) {
      if (!mayRead(read.caller, read.bytes)) continue;
      // A read that does not fit blocks the reads after it; otherwise small reads could starve it.
      if (!hasRoom(read.bytes)) return;
      add(read.caller, 1, read.bytes);
      waiting.delete(read);
      read.admit();
    }
  };
  return {
    /** Counts a read of `bytes` once there is room. Rejects with `Overloaded` if there is none in time. */
    acquire: async (caller: Caller, bytes: number, request?: object): Promise<void> => {
      if (waiting.size === 0 && mayRead(caller, bytes) && hasRoom(bytes)) return add(caller, 1, bytes);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const refuse = (error: Error) => {
        waiting.delete(read);
        reject(error);
      };
      const read: Waiting = { caller, bytes, request, admit: resolve, refuse };
      waiting.add(read);
      admitWaiting();
      const expire = () => {
        const limit = hasRoom(bytes) && !mayRead(caller, bytes) ? 'share' : 'memory';
        refuse(new Overloaded(limit, `no room for a read within ${waitMs} ms`));
        // It blocks the reads after it no more.
        admitWaiting();
      };
      const timer = setTimeout(expire, waitMs).unref();
      return promise.finally(() => clearTimeout(timer));
    },
    /** Rejects the reads of a request that wait: its client has left. */
    leave: (request: object) => {
      for (const read of waiting) {
        if (read.request === request) read.refuse(new StoreUnavailable('the client has left'));
      }
      admitWaiting();
    },
    release: (caller: Caller, bytes: number) => {
      add(caller, -1, -bytes);
      admitWaiting();
    },
    /** Counts bytes that stay in memory; a negative number releases them. */
    count: (caller: Caller, bytes: number) => {
      bytesHeld.add(caller, bytes);
      if (bytes < 0) admitWaiting();
    },
    /** All of this process: the reads in progress and in the queue, and the bytes held. */
    usage: () => ({ reads: reads.all(), bytes: bytesHeld.all(), waiting: waiting.size }),
    /** Whether more than half of the bytes are held. */
    isHalfUsed: () => bytesHeld.all() > bytesMax / 2,
  };
}
