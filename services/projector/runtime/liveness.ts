/** One assigned partition, as seen at one moment. */
export type Watched = {
  key: string;
  position: number;
  /** Of what can be read: records of an open transaction lie beyond it. */
  end: number;
  /** Counts what a step does between its start and its end: chunks of a fan-out, waits for what is away. */
  progressCount: number;
};

export type Liveness = {
  /** The store and the brokers answered, and this is how it stands. */
  observe: (nowMs: number, partitions: Watched[]) => void;
  /** The store or the brokers are away: nothing can be done, and a restart would not help. */
  observeAway: (nowMs: number) => void;
  /** Null while it lives; else why a restart is due, in one line. */
  verdict: (nowMs: number) => string | null;
};

/** Work that has not moved for so long is stuck, in milliseconds. */
const stuckAfterMs = 300_000;

/**
 * So long without an observation of either sort, and the loop that makes them hangs, or fails by a fault of its
 * own, in milliseconds. Longer than all time-outs and repetitions of the driver and of kafkajs together.
 */
const silentAfterMs = 900_000;

/**
 * Tells a process that is stuck from one that is busy, waits, or has nothing to do. A partition is stuck when
 * there are records for it and neither its position moves nor a step of it.
 */
export function createLiveness(startMs: number): Liveness {
  let lastObservedMs = startMs;
  const moved = new Map<string, { mark: string; atMs: number }>();

  return {
    observe: (nowMs, partitions) => {
      lastObservedMs = nowMs;
      const behind = partitions.filter(({ position, end }) => position < end);
      const keys = new Set(behind.map(({ key }) => key));
      for (const key of moved.keys()) if (!keys.has(key)) moved.delete(key);
      for (const { key, position, progressCount } of behind) {
        const mark = `${position}/${progressCount}`;
        if (moved.get(key)?.mark !== mark) moved.set(key, { mark, atMs: nowMs });
      }
    },
    observeAway: (nowMs) => {
      lastObservedMs = nowMs;
      moved.clear();
    },
    verdict: (nowMs) => {
      const seconds = (sinceMs: number) => Math.round((nowMs - sinceMs) / 1_000);
      if (nowMs - lastObservedMs > silentAfterMs)
        return `progress has been neither recorded nor refused for ${seconds(lastObservedMs)} s`;
      for (const [key, { atMs }] of moved)
        if (nowMs - atMs > stuckAfterMs)
          return `${key} has records, but has not moved for ${seconds(atMs)} s`;
      return null;
    },
  };
}
