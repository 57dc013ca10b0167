import { readTimeoutMs } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The largest reply of the store, and so the most that a page may come to while it is read. */
export const replyBytesMax = 16 * 1_024 * 1_024;

/** The most that a single document is expected to come to; there are larger ones, up to 12 MB, but hardly ever. */
export const documentBytes = 4 * 1_024 * 1_024;

/** The share of the bytes that one organization may have. */
const organizationShare = 1 / 4;

type Usage = { reads: number; bytes: number };
type Waiting = { orgId: string; bytes: number; admit: () => void };

export type ReadBudget = {
  /** Counts a read of so many bytes, once there is room; fails with `StoreUnavailable` if there is none in time. */
  enter: (orgId: string, bytes: number) => Promise<void>;
  leave: (orgId: string, bytes: number) => void;
  /** Counts bytes that stay in memory, or, below zero, that do not any more. */
  count: (orgId: string, bytes: number) => void;
  usage: () => Usage;
};

export type BudgetLimits = {
  /** What all answers may take in memory. */
  bytesMax: number;
  /** Size of the pool that reads take connections from. */
  connectionsMax: number;
  /** How long a read waits for room. */
  waitMs?: number;
};

/**
 * Bounds what the answers of all requests take in memory: the reply that each read in progress may bring, then what is
 * kept of it until the client has taken the answer. Reads beyond the bound wait their turn. One organization has a
 * quarter of the bytes and never every connection, so that it cannot make the others wait for it.
 */
export function createReadBudget({
  bytesMax,
  connectionsMax,
  waitMs = readTimeoutMs,
}: BudgetLimits): ReadBudget {
  const all: Usage = { reads: 0, bytes: 0 };
  const usages = new Map<string, Usage>();
  const ownReadsMax = Math.max(1, connectionsMax - 1);
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
  const hasRoom = (orgId: string, bytes: number) => {
    const { reads, bytes: taken } = usages.get(orgId) ?? { reads: 0, bytes: 0 };
    return (
      all.reads < connectionsMax &&
      reads < ownReadsMax &&
      all.bytes + bytes <= bytesMax &&
      taken + bytes <= bytesMax * organizationShare
    );
  };
  const admitWaiting = () => {
    // A read that waits because the whole is full holds back those behind it, or small ones would pass it for ever.
    const isBlocked = (bytes: number) => all.reads >= connectionsMax || all.bytes + bytes > bytesMax;
    for (const one of waiting) {
      if (isBlocked(one.bytes)) return;
      if (!hasRoom(one.orgId, one.bytes)) continue;
      add(one.orgId, 1, one.bytes);
      one.admit();
    }
  };
  return {
    enter: async (orgId, bytes) => {
      if (waiting.size === 0 && hasRoom(orgId, bytes)) {
        add(orgId, 1, bytes);
        return;
      }
      const admitted = untilAdmitted(waiting, { orgId, bytes }, waitMs);
      admitWaiting();
      await admitted;
    },
    leave: (orgId, bytes) => {
      add(orgId, -1, -bytes);
      admitWaiting();
    },
    count: (orgId, bytes) => {
      add(orgId, 0, bytes);
      if (bytes < 0) admitWaiting();
    },
    usage: () => ({ ...all }),
  };
}

const untilAdmitted = (waiting: Set<Waiting>, read: Omit<Waiting, 'admit'>, waitMs: number) =>
  new Promise<void>((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      waiting.delete(one);
      settle();
    };
    const one: Waiting = { ...read, admit: () => end(resolve) };
    const timer = setTimeout(
      () => end(() => reject(new StoreUnavailable(`no room for a read within ${waitMs} ms`))),
      waitMs,
    );
    timer.unref();
    waiting.add(one);
  });
