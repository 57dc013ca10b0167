import { parsePartitionKey } from '../kafka/topic-partition.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** How far some projector has applied a partition, and the end of its log, both as last reported. */
type PartitionPosition = { position: number; end: number; movedAtMs: number };

/** The positions of all partitions that this process knows of, those of other projectors included. */
export type Positions = {
  /** Reports a position that was fully applied, or an end offset that was read. Neither ever decreases. */
  report: (key: string, reported: { position?: number; end?: number }) => void;
  /** Whether the record at this offset, and every record before it, has been fully applied. */
  isApplied: (key: string, offset: number) => boolean;
  /**
   * Sets the offsets up to which a build loads each partition first; null once it is loaded. Later records are fetched
   * only then: applied with the backlog, they cost a batch each, and are refreshed again and again.
   */
  load: (ends: ReadonlyMap<string, number> | null) => void;
  isLoading: () => boolean;
  /** Calls `listener` whenever `load` was called. */
  onLoadChange: (listener: () => void) => void;
  /** The offset from which on a partition is not fetched before the load has ended. */
  loadEnd: (key: string) => number;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
  /** The end offsets of those partitions of the topics that are not caught up, or not loaded. */
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
    report: (key, { position = 0, end = 0 }) => {
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
    onLoadChange: (listener) => void listeners.push(listener),
    loadEnd: (key) => (loadEnds ? (loadEnds.get(key) ?? 0) : Infinity),
    nowMs,
    catchUpTargets: (topics) => {
      const ends = loadEnds ?? new Map([...partitions].map(([key, { end }]) => [key, end]));
      const behind = [...ends].filter(
        ([key, end]) => positionOf(key) < end && topics.includes(parsePartitionKey(key).topic),
      );
      return new Map(behind);
    },
    isCatchingUp: (targets) =>
      [...targets].some(([key, target]) => {
        const stalledMs = nowMs() - (partitions.get(key)?.movedAtMs ?? 0);
        return positionOf(key) < target && (loadEnds !== null || stalledMs < stalledAfterMs);
      }),
  };
}

/** A partition with at least this many records to apply has a backlog. */
const backlogMin = 200;
const pollMs = 20;
/** The longest that a partition waits in one backlog, in milliseconds, outside a load. */
const waitMaxMs = 10 * 60_000;

/** A partition, the offset of the next record to apply, and the present end of its log as far as known. */
export type Turn = { topic: string; partition: number; position: number; end: () => number };

/**
 * Waits until the next batch of a partition may be applied, or `signal` aborts; calls `onWait` at each poll. A backlog
 * waits while its prerequisite topics have one too, so that nearly every document is written once: for the records that
 * were in those topics when the wait began, for ten minutes at most, and never for a stalled partition. While a build
 * loads, it waits for all of them.
 */
export type WaitForTurn = (turn: Turn, signal: AbortSignal, onWait: () => void) => Promise<void>;

/** Creates the wait of one partition. The prerequisites of a topic are the topics that its documents refer to. */
export function createWaitForTurn(
  positions: Positions,
  prerequisitesOf: (topic: string) => string[],
): WaitForTurn {
  let targets: Map<string, number> | null = null;
  let wasLoading = false;
  let untilMs = 0;
  return async ({ topic, position, end }, signal, onWait) => {
    const isLoading = positions.isLoading();
    // The records that have come since the load are a backlog of their own.
    if (wasLoading && !isLoading) targets = null;
    wasLoading = isLoading;
    if (!isLoading && end() - position < backlogMin) {
      targets = null;
      return;
    }
    if (targets === null) untilMs = positions.nowMs() + waitMaxMs;
    targets ??= positions.catchUpTargets(prerequisitesOf(topic));
    const isDue = () => !positions.isLoading() && positions.nowMs() >= untilMs;
    while (!signal.aborted && !isDue() && positions.isCatchingUp(targets)) {
      onWait();
      await sleep(pollMs);
    }
  };
}
