/** How far a partition has been applied, by whichever projector, and how far its log reaches, as last seen. */
type Known = { position: number; end: number; movedAtMs: number };

/** What this process knows of the positions of all partitions, its own and those of others. */
export type Positions = {
  /** Reports a position that was applied in full, or an end that was seen. Neither ever goes back. */
  report: (key: string, known: { position?: number; end?: number }) => void;
  /** Whether everything up to and including an offset has been applied in full. */
  isApplied: (key: string, offset: number) => boolean;
  /** The ends of the partitions of topics, as far as these are ahead of what is applied. */
  goals: (topics: string[]) => Map<string, number>;
  /** Whether any partition is short of its goal and has moved lately: a stuck one holds up nobody. */
  isShortOf: (goals: Map<string, number>) => boolean;
};

/** A partition that has not moved for so long is not waited for, in milliseconds. */
const stalledAfterMs = 5_000;

export function createPositions(nowMs: () => number): Positions {
  const partitions = new Map<string, Known>();
  return {
    report: (key, { position = 0, end = 0 }) => {
      const known = partitions.get(key) ?? { position: 0, end: 0, movedAtMs: nowMs() };
      const wasBehind = known.position < known.end;
      if (position > known.position || (!wasBehind && end > known.end)) known.movedAtMs = nowMs();
      known.position = Math.max(known.position, position);
      known.end = Math.max(known.end, end);
      partitions.set(key, known);
    },
    isApplied: (key, offset) => offset < (partitions.get(key)?.position ?? 0),
    goals: (topics) => {
      const isOf = (key: string) => topics.includes(key.slice(0, key.lastIndexOf('/')));
      const behind = [...partitions].filter(([key, { position, end }]) => isOf(key) && position < end);
      return new Map(behind.map(([key, { end }]) => [key, end]));
    },
    isShortOf: (goals) =>
      [...goals].some(([key, goal]) => {
        const known = partitions.get(key);
        return known !== undefined && known.position < goal && nowMs() - known.movedAtMs < stalledAfterMs;
      }),
  };
}
