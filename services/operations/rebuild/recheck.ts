import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/resources.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil } from '../poll-until.ts';

/** A document that still differs after this many rechecks counts as different. */
const rounds = 3;
/** At most this many differing documents are compared again, because memory keeps a difference of each. */
export const recheckMax = 20_000;
/** If a watermark stands still for this long, in milliseconds, no projector follows the generation. */
const stallMs = 15_000;

type ReadWatermarks = () => Promise<Date[]>;

type RecheckDeps = Pick<OperatorDeps, 'now' | 'report'> & {
  /** The watermarks of the generations that are compared. */
  watermarks: ReadWatermarks;
  /** A monotonic clock, in milliseconds. */
  nowMs?: (() => number) | undefined;
};

/**
 * Compares differing documents again once the projectors have applied everything up to now, because until then the lag
 * of the projectors may be the cause. `compare` returns the differences that a comparison at `at` finds. Returns the
 * differences that remain.
 */
export async function recheck<Difference extends { kind: Kind; id: string }>(
  { now, report, watermarks, nowMs }: RecheckDeps,
  differences: Difference[],
  compare: (kind: Kind, ids: string[], at: Date) => Promise<Difference[]>,
): Promise<Difference[]> {
  let remaining = differences;
  for (let round = 1; round <= rounds && remaining.length > 0; round += 1) {
    const differing = counted(countDocuments(remaining), 'document');
    report(`differences in ${differing}; comparing again once the projectors have caught up`);
    const at = await now();
    const hasPassed = await awaitWatermarks(watermarks, at, { report, nowMs });
    const byKind = Map.groupBy(remaining, ({ kind }) => kind);
    remaining = [];
    for (const [kind, kindDifferences] of byKind) {
      const ids = new Set(kindDifferences.map(({ id }) => id));
      remaining = remaining.concat(await compare(kind, [...ids], at));
    }
    if (!hasPassed) return remaining;
  }
  return remaining;
}

/** How many documents differ: one document may have several differences. */
export function countDocuments(differences: { kind: Kind; id: string }[]): number {
  const documents = new Set(differences.map(({ kind, id }) => `${kind} ${id}`));
  return documents.size;
}

/**
 * Waits until every watermark has passed an instant, or until the others stand still, which it reports. Resolves to
 * whether all have passed.
 */
async function awaitWatermarks(
  watermarks: ReadWatermarks,
  instant: Date,
  { report, nowMs = () => performance.now() }: Pick<RecheckDeps, 'report' | 'nowMs'>,
): Promise<boolean> {
  let previous: number[] = [];
  let movedAtMs = nowMs();
  const readLagging = async (): Promise<number[]> => {
    const instants = await watermarks();
    const lagging = instants.filter((completeTo) => completeTo <= instant).map(Number);
    if (!isDeepStrictEqual(lagging, previous)) movedAtMs = nowMs();
    previous = lagging;
    return lagging;
  };
  const isDone = (lagging: number[]) => lagging.length === 0 || nowMs() - movedAtMs > stallMs;
  const lagging = await pollUntil(readLagging, isDone, { everyMs: 500 });
  const hasPassed = lagging.length === 0;
  if (!hasPassed)
    report(
      `a watermark has stood still for ${stallMs / 1_000} s: the remaining differences may be due to lag`,
    );
  return hasPassed;
}
