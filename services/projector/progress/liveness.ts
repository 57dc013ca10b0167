/** One assigned partition, as seen at one moment. */
export type ObservedPartition = {
  key: string;
  /** Null until its start offset is found. It then counts as one with records to apply. */
  position: number | null;
  /** The offset up to which its records can be applied now; null without a leader. */
  end: number | null;
  /** Counts the progress within a chunk: parts of a fan-out, and waits for servers that are unavailable. */
  progressCount: number;
};

export type Liveness = {
  /** MongoDB and the brokers responded; these are the assigned partitions. */
  observe: (nowMs: number, partitions: ObservedPartition[]) => void;
  /** The group has committed the offsets, or no commit was due. */
  observeCommit: (nowMs: number) => void;
  /** MongoDB or the brokers are unavailable. No progress is possible, and a restart would not help. */
  observeUnavailable: (nowMs: number) => void;
  /** Null while the process is alive; otherwise the reason for a restart, in one line. */
  failure: (nowMs: number) => string | null;
};

const hasRecords = ({ position, end }: ObservedPartition): boolean =>
  end !== null && (position === null || position < end);

/** The time after which a partition that has records, but does not move, is stuck, in milliseconds. */
const stuckAfterMs = 300_000;

/**
 * The time after which missing observations or commits are a failure, in milliseconds. Without observations, the commit
 * loop hangs, or fails because of a bug. Without commits, the group no longer has this member, or its coordinator is
 * away. The time is longer than all timeouts and retries of the MongoDB driver and of kafkajs together.
 */
const silentAfterMs = 900_000;

/**
 * Distinguishes a stuck process, which a restart may help, from one that is busy, waiting or idle. The commit loop
 * reports its observations, `/livez` calls `failure`. A partition is stuck if it has records to apply, but its position
 * and its progress count stand still.
 */
export function createLiveness(startMs: number): Liveness {
  let lastObservedMs = startMs;
  let lastCommitMs = startMs;
  const lastMoves = new Map<string, { mark: string; atMs: number }>();

  return {
    observe: (nowMs, partitions) => {
      lastObservedMs = nowMs;
      const lagging = partitions.filter(hasRecords);
      const keys = new Set(lagging.map(({ key }) => key));
      for (const key of lastMoves.keys()) {
        if (!keys.has(key)) lastMoves.delete(key);
      }
      for (const { key, position, progressCount } of lagging) {
        const mark = `${position}/${progressCount}`;
        if (lastMoves.get(key)?.mark !== mark) lastMoves.set(key, { mark, atMs: nowMs });
      }
    },
    observeCommit: (nowMs) => {
      lastCommitMs = nowMs;
    },
    observeUnavailable: (nowMs) => {
      lastObservedMs = nowMs;
      lastCommitMs = nowMs;
      lastMoves.clear();
    },
    failure: (nowMs) => {
      const seconds = (sinceMs: number, untilMs = nowMs) => Math.round((untilMs - sinceMs) / 1_000);
      if (nowMs - lastObservedMs > silentAfterMs)
        return `progress has been neither recorded nor refused for ${seconds(lastObservedMs)} s`;
      if (nowMs - lastCommitMs > silentAfterMs)
        return `no offset could be committed for ${seconds(lastCommitMs)} s`;
      // Up to the last observation, because the position may have moved since.
      for (const [key, { atMs }] of lastMoves) {
        if (lastObservedMs - atMs > stuckAfterMs)
          return `${key} has records, but has not moved for ${seconds(atMs, lastObservedMs)} s`;
      }
      return null;
    },
  };
}
