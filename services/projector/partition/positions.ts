import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';

/** The offset up to which a projector has applied a partition, and the end of the log, both as last observed. */
type PartitionPosition = { position: number; end: number; movedAtMs: number };

/**
 * The positions of all partitions that this process knows. The consumer reports those of its own partitions, and the
 * commit loop those that other projectors have saved. A partition that waits for its prerequisites reads them.
 */
export type Positions = {
  /** Updates the position up to which every record is applied, or the end of the log. An older value has no effect. */
  observe: (key: string, observed: { position?: number; end?: number }) => void;
  /** Whether the record at this offset and all earlier ones have been fully applied. */
  isApplied: (key: string, offset: number) => boolean;
  /**
   * Sets the offsets up to which a build loads each partition; null once it is loaded. The projector fetches later
   * records only after the load. During the load, each of them would cost a separate batch and repeated refreshes.
   */
  setLoadEnds: (ends: ReadonlyMap<string, number> | null) => void;
  isLoading: () => boolean;
  /** Calls `listener` after each `setLoadEnds`. */
  onLoadChange: (listener: () => void) => void;
  /** The offset from which on a partition is not fetched during a load; infinite outside a load. */
  loadEnd: (key: string) => number;
  nowMs: () => number;
  /** The end offsets of the partitions of the topics, or the offsets up to which a build loads them. */
  catchUpTargets: (topics: string[]) => Map<string, number>;
  /**
   * Whether any partition is below its target and still moving. A stalled partition counts only during a load, because
   * the load cannot end without it.
   */
  isCatchingUp: (targets: Map<string, number>) => boolean;
};

/** The time without movement after which a partition is stalled, in milliseconds. No other partition waits for it. */
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
      const hasMoved = position > known.position;
      const hasNewRecords = !wasLagging && end > known.end;
      if (hasMoved || hasNewRecords) known.movedAtMs = nowMs();
      known.position = Math.max(known.position, position);
      known.end = Math.max(known.end, end);
      partitions.set(key, known);
    },
    isApplied: (key, offset) => offset < positionOf(key),
    setLoadEnds: (ends) => {
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
      const targets = new Map<string, number>();
      for (const [key, target] of loadEnds ?? endsOf(partitions)) {
        if (topics.includes(parsePartitionKey(key).topic)) targets.set(key, target);
      }
      return targets;
    },
    isCatchingUp: (targets) => {
      for (const [key, target] of targets) {
        const isBelow = positionOf(key) < target;
        const standsForMs = nowMs() - (partitions.get(key)?.movedAtMs ?? 0);
        if (isBelow && (loadEnds !== null || standsForMs < stalledAfterMs)) return true;
      }
      return false;
    },
  };
}

const endsOf = (partitions: ReadonlyMap<string, PartitionPosition>): Map<string, number> =>
  new Map([...partitions].map(([key, { end }]) => [key, end]));
