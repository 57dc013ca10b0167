import { readTimeoutMs } from './deadline.ts';
import type { Caller } from '../auth/caller.ts';
import { Overloaded, StoreUnavailable } from './store-errors.ts';

/** The largest reply of the store, and therefore the maximum size of a page while it is read. */
export const replyBytesMax = 16 * 1_024 * 1_024;

/** The expected maximum of a single document. Larger ones, up to 12 MB, are very rare. */
export const documentBytes = 4 * 1_024 * 1_024;

type Usage = { reads: number; bytes: number };
type Read = { caller: Caller; bytes: number; request: object | undefined };
type Waiting = Read & { admit: () => void; refuse: (error: Error) => void };

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
export function isWithinShare(
  limit: number,
  more: number,
  used: { all: number; org: number; key: number },
): boolean {
  const isScarce = used.all >= limit / 2;
  const isWithin = (own: number, share: number) =>
    own === 0 || (isScarce ? own + more <= share : own < share);
  const share = fairShare(limit, used.all, 4);
  return isWithin(used.org, share) && isWithin(used.key, fairShare(share, used.org, 2));
}

/** Counts the reads and bytes of all callers; knows whether there is room, and whether a caller may use more. */
function createUsages({ bytesMax, connectionsMax }: Limits) {
  const all: Usage = { reads: 0, bytes: 0 };
  const usages = new Map<string, Usage>();
  const none: Usage = { reads: 0, bytes: 0 };
  const [organizationReadsMax, keyReadsMax] = [1, 2].map((spare) => Math.max(1, connectionsMax - spare)) as [
    number,
    number,
  ];
  return {
    all,
    add: (caller: Caller, reads: number, bytes: number) => {
      all.reads += reads;
      all.bytes += bytes;
      for (const name of [caller.orgId, keyName(caller)]) {
        const usage = usages.get(name) ?? none;
        const now = { reads: usage.reads + reads, bytes: usage.bytes + bytes };
        if (now.reads === 0 && now.bytes === 0) usages.delete(name);
        else usages.set(name, now);
      }
    },
    hasRoom: (bytes: number) => all.reads < connectionsMax && all.bytes + bytes <= bytesMax,
    mayRead: (caller: Caller, bytes: number) => {
      const org = usages.get(caller.orgId) ?? none;
      const key = usages.get(keyName(caller)) ?? none;
      const used = { all: all.bytes, org: org.bytes, key: key.bytes };
      return (
        org.reads < organizationReadsMax && key.reads < keyReadsMax && isWithinShare(bytesMax, bytes, used)
      );
    },
  };
}

/**
 * Limits the memory of all responses in progress: the expected reply of each read, then the bytes kept until the client
 * has taken the response. Further reads wait in a queue. One organization, and each of its keys, may hold its share of the
 * bytes and never every connection, so that it cannot make the others wait.
 */
export function createReadBudget(limits: Limits) {
  const { bytesMax, waitMs = readTimeoutMs } = limits;
  const { all, add, hasRoom, mayRead } = createUsages(limits);
  const waiting = new Set<Waiting>();

  const admitWaiting = () => {
    for (const read of waiting) {
      if (!mayRead(read.caller, read.bytes)) continue;
      // A read that does not fit blocks the reads after it; otherwise small reads could starve it.
      if (!hasRoom(read.bytes)) return;
      add(read.caller, 1, read.bytes);
      read.admit();
    }
  };
  return {
    /** Counts a read of `bytes` once there is room. Rejects with `Overloaded` if there is none in time. */
    acquire: async (caller: Caller, bytes: number, request?: object): Promise<void> => {
      if (waiting.size === 0 && mayRead(caller, bytes) && hasRoom(bytes)) {
        add(caller, 1, bytes);
        return;
      }
      // The one that the read waits for.
      const limit = () => (hasRoom(bytes) && !mayRead(caller, bytes) ? 'share' : 'memory');
      const overloaded = () => new Overloaded(limit(), `no room for a read within ${waitMs} ms`);
      const admitted = enqueue(waiting, { caller, bytes, request }, { waitMs, overloaded });
      admitWaiting();
      try {
        await admitted;
      } catch (error) {
        // It blocks the reads after it no more.
        admitWaiting();
        throw error;
      }
    },
    /** Rejects the reads of a request that wait: its client has left. */
    leave: (request: object) => {
      for (const read of waiting) {
        if (read.request === request) read.refuse(new StoreUnavailable('the client has left'));
      }
    },
    release: (caller: Caller, bytes: number) => {
      add(caller, -1, -bytes);
      admitWaiting();
    },
    /** Counts bytes that stay in memory; a negative number releases them. */
    count: (caller: Caller, bytes: number) => {
      add(caller, 0, bytes);
      if (bytes < 0) admitWaiting();
    },
    /** All of this process: the reads in progress and in the queue, and the bytes held. */
    usage: () => ({ ...all, waiting: waiting.size }),
    /** Whether more than half of the bytes are held. */
    isHalfUsed: () => all.bytes > bytesMax / 2,
  };
}

const keyName = ({ orgId, keyId }: Caller) => `${orgId} ${keyId}`;

/** Adds a read to the queue and resolves when it is admitted. */
const enqueue = (
  waiting: Set<Waiting>,
  read: Read,
  { waitMs, overloaded }: { waitMs: number; overloaded: () => Overloaded },
) =>
  new Promise<void>((resolve, reject) => {
    const finish = (complete: () => void) => {
      clearTimeout(timer);
      waiting.delete(entry);
      complete();
    };
    const refuse = (error: Error) => finish(() => reject(error));
    const entry: Waiting = { ...read, admit: () => finish(resolve), refuse };
    const timer = setTimeout(() => refuse(overloaded()), waitMs);
    timer.unref();
    waiting.add(entry);
  });
