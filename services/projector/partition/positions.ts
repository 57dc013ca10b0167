import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';

/** How far some projector has applied a partition, and the end of its log, both as last reported. */
type PartitionPosition = { position: number; end: number; movedAtMs: number };

/** The positions of all partitions that this process knows, also of other projectors' partitions. */
export type Positions = {
  /** Takes note of a position that was fully applied, or an end offset that was read. Neither ever decreases. */
  observe: (key: string, known: { position?: number; end?: number }) => void;
  /** Whether the record at this offset, and every record before it, has been fully applied. */
  isApplied: (key: string, offset: number) => boolean;
  /**
   * Sets the offsets up to which a build loads each partition first; null once it is loaded. The projector fetches
   * later records only then: with the backlog, each would cost a batch and repeated refreshes.
   */
  load: (ends: ReadonlyMap<string, number> | null) => void;
  isLoading: () => boolean;
  /** Calls `listener` whenever `load` was called. */
  onLoadChange: (listener: () => void) => void;
  /** The offset from which on a partition is not fetched before the load has ended. */
  loadEnd: (key: string) => number;
  nowMs: () => number;
  /** The end offsets of the partitions of the topics, or the offsets up to which a build loads them. */
  catchUpTargets: (topics: string[]) => Map<string, number>;
  /**
   * Whether any partition is below its target and still moving. A stalled partition does not count, except during a
   * load, which cannot end without it.
   */
  isCatchingUp: (targets: Map<string, number>) => boolean;
};

/** A partition that has not moved for this long, in milliseconds, counts as stalled: no other waits for it. */
const stalledAfterMs = 5_000;

export function createPositions(nowMs: () => number): Positions {
  const partitions = new Map<string, PartitionPosition>();
  let loadEnds: ReadonlyMap<string, number> | null = null;
  const listeners: (() => void)[] = [];
  const positionOf = (key: string) => partitions.get(key)?.position ?? 0;
  return {
    observe: (key, { position = 0, end = 0 }) => {
      const known = partitions.get(key) ?? { position: 0, end: 0, movedAtMs: nowMs() };
      const wasLagging = known.position < known.end;
      if (position > known.position || (!wasLagging && end > known.end)) known.movedAtMs = nowMs();
      known.position = Math.max(known.position, position);
      known.end = Math.max(known.end, end);
      partitions.set(key, known);
    },
    isApplied: (key, offset) => offset < positionOf(key),
    load: (ends) => {
      loadEnds = ends;
      for (const listener of listeners) listener();
    },
    isLoading: () => loadEnds !== null,
    onLoadChange: (listener) => {
      listeners.push(listener);
    },
    loadEnd: (key) => (loadEnds ? (loadEnds.get(key) ?? 0) : Infinity),
    nowMs,
    catchUpTargets: (topics) => {
      const ends = loadEnds ?? new Map([...partitions].map(([key, { end }]) => [key, end]));
      return new Map([...ends].filter(([key]) => topics.includes(parsePartitionKey(key).topic)));
    },
    isCatchingUp: (targets) =>
      [...targets].some(([key, target]) => {
        const stalledMs = nowMs() - (partitions.get(key)?.movedAtMs ?? 0);
        return positionOf(key) < target && (loadEnds !== null || stalledMs < stalledAfterMs);
      }),
  };
}
