import { readTimeoutMs } from './deadline.ts';
import { Overloaded } from './store-errors.ts';

/** The largest reply of the store, and therefore the maximum size of a page while it is read. */
export const replyBytesMax = 16 * 1_024 * 1_024;

/** The expected maximum of a single document. Larger ones, up to 12 MB, are very rare. */
export const documentBytes = 4 * 1_024 * 1_024;

type Usage = { reads: number; bytes: number };
type Waiting = { orgId: string; bytes: number; admit: () => void };

export type ReadBudget = {
  /** Counts a read of `bytes` once there is room. Rejects with `Overloaded` if there is none in time. */
  acquire: (orgId: string, bytes: number) => Promise<void>;
  release: (orgId: string, bytes: number) => void;
  /** Counts bytes that stay in memory; a negative number releases them. */
  count: (orgId: string, bytes: number) => void;
  /** All of this process: the reads in progress and in the queue, and the bytes held. */
  usage: () => Usage & { waiting: number };
  /** Whether more than half of the bytes are held. */
  isHalfUsed: () => boolean;
};

type Limits = {
  /** Bytes that all responses in progress may hold. */
  bytesMax: number;
  /** Size of the pool that reads take connections from. */
  connectionsMax: number;
  /** How long a read waits for room. */
  waitMs?: number;
};

/**
 * Returns the part of a limit that one organization may use: a quarter of the limit, and once half of it is in use a
 * quarter of the rest. An organization that uses nothing may always start. So the next organization has room, however
 * many others hold their shares.
 */
export const fairShare = (limit: number, used: number): number =>
  (used < limit / 2 ? limit : limit - used) / 4;

/**
 * Limits the memory of all responses in progress: the expected reply of each read, then the bytes kept until the client
 * has taken the response. Further reads wait in a queue. One organization may hold its fair share of the bytes and never
 * every connection, so that it cannot make the others wait.
 */
export function createReadBudget({ bytesMax, connectionsMax, waitMs = readTimeoutMs }: Limits): ReadBudget {
  const all: Usage = { reads: 0, bytes: 0 };
  const usages = new Map<string, Usage>();
  const organizationReadsMax = Math.max(1, connectionsMax - 1);
  const waiting = new Set<Waiting>();

  const add = (orgId: string, reads: number, bytes: number) => {
    const usage = usages.get(orgId) ?? { reads: 0, bytes: 0 };
    usages.set(orgId, usage);
    for (const each of [all, usage]) {
      each.reads += reads;
      each.bytes += bytes;
    }
    if (usage.reads === 0 && usage.bytes === 0) usages.delete(orgId);
  };
  const hasRoom = (bytes: number) => all.reads < connectionsMax && all.bytes + bytes <= bytesMax;
  const isWithinShare = (orgId: string, bytes: number) => {
    const { reads, bytes: taken } = usages.get(orgId) ?? { reads: 0, bytes: 0 };
    return reads < organizationReadsMax && (taken === 0 || taken + bytes <= fairShare(bytesMax, all.bytes));
  };
  const admitWaiting = () => {
    for (const read of waiting) {
      if (!isWithinShare(read.orgId, read.bytes)) continue;
      // A read that does not fit blocks the reads after it; otherwise small reads could starve it.
      if (!hasRoom(read.bytes)) return;
      add(read.orgId, 1, read.bytes);
      read.admit();
    }
  };
  return {
    acquire: async (orgId, bytes) => {
      if (waiting.size === 0 && isWithinShare(orgId, bytes) && hasRoom(bytes)) {
        add(orgId, 1, bytes);
        return;
      }
      const admitted = enqueue(waiting, { orgId, bytes }, waitMs);
      admitWaiting();
      await admitted;
    },
    release: (orgId, bytes) => {
      add(orgId, -1, -bytes);
      admitWaiting();
    },
    count: (orgId, bytes) => {
      add(orgId, 0, bytes);
      if (bytes < 0) admitWaiting();
    },
    usage: () => ({ ...all, waiting: waiting.size }),
    isHalfUsed: () => all.bytes > bytesMax / 2,
  };
}

/** Adds a read to the queue and resolves when it is admitted. */
const enqueue = (waiting: Set<Waiting>, read: Omit<Waiting, 'admit'>, waitMs: number) =>
  new Promise<void>((resolve, reject) => {
    const finish = (complete: () => void) => {
      clearTimeout(timer);
      waiting.delete(entry);
      complete();
    };
    const entry: Waiting = { ...read, admit: () => finish(resolve) };
    const timer = setTimeout(
      () => finish(() => reject(new Overloaded('memory', `no room for a read within ${waitMs} ms`))),
      waitMs,
    );
    timer.unref();
    waiting.add(entry);
  });
