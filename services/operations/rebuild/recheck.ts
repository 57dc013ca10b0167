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
export const countDocuments = (differences: { kind: Kind; id: string }[]): number =>
  [...Map.groupBy(differences, ({ kind }) => kind).values()].reduce(
    (sum, kindDifferences) => sum + new Set(kindDifferences.map(({ id }) => id)).size,
    0,
  );

/**
 * Waits until every watermark has passed an instant, or until the others stand still, which it reports. Resolves to
 * whether all have passed.
 */
async function awaitWatermarks(
  watermarks: ReadWatermarks,
  instant: Date,
  { report, nowMs = () => performance.now() }: Pick<RecheckDeps, 'report' | 'nowMs'>,
): Promise<boolean> {
  let previous = '';
  let movedAtMs = nowMs();
  const readLagging = async () => {
    const lagging = (await watermarks())
      .filter((completeTo) => completeTo <= instant)
      .map(Number)
      .join();
    if (lagging !== previous) movedAtMs = nowMs();
    previous = lagging;
    return lagging;
  };
  const isDone = (lagging: string) => lagging === '' || nowMs() - movedAtMs > stallMs;
  const hasPassed = (await pollUntil(readLagging, isDone, { everyMs: 500 })) === '';
  if (!hasPassed)
    report(
      `a watermark has stood still for ${stallMs / 1_000} s: the remaining differences may be due to lag`,
    );
  return hasPassed;
}
