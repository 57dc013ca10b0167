import type { Kind } from '../../../shared/documents/resources.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil } from '../poll-until.ts';

/** A document that differs is compared again. After this many times it counts as different. */
const rounds = 3;
/** The number of differing documents that are compared again, at most: a difference of each is kept in memory. */
export const recheckMax = 20_000;
/** If a watermark stands still for this long, no projector follows the generation; in milliseconds. */
const stallMs = 15_000;

type ReadWatermarks = () => Promise<Date[]>;

type RecheckDeps = Pick<OperatorDeps, 'now' | 'report'> & {
  /** The watermarks of the generations that are compared. */
  watermarks: ReadWatermarks;
  /** A monotonic clock, in milliseconds. */
  nowMs?: (() => number) | undefined;
};

/**
 * Compares differing documents again, once the projectors have applied everything up to now: until then a lag of the
 * projectors may be the cause. `compare` returns the differences that a comparison at `at` finds. Returns the
 * differences that remain.
 */
export async function recheck<Difference extends { kind: Kind; id: string }>(
  { now, report, watermarks, nowMs }: RecheckDeps,
  differences: Difference[],
  compare: (kind: Kind, ids: string[], at: Date) => Promise<Difference[]>,
): Promise<Difference[]> {
  let remaining = differences;
  for (let round = 1; round <= rounds && remaining.length > 0; round += 1) {
    const differing = counted(documentsIn(remaining), 'document');
    report(`differences in ${differing}; comparing again once the projectors have caught up`);
    const at = await now();
    const hasPassed = await watermarksPassed(watermarks, at, { report, nowMs });
    const byKind = Map.groupBy(remaining, ({ kind }) => kind);
    remaining = [];
    for (const [kind, some] of byKind) {
      const ids = new Set(some.map(({ id }) => id));
      remaining = remaining.concat(await compare(kind, [...ids], at));
    }
    if (!hasPassed) return remaining;
  }
  return remaining;
}

/** How many documents differ: one document may have several differences. */
export const documentsIn = (differences: { kind: Kind; id: string }[]): number =>
  [...Map.groupBy(differences, ({ kind }) => kind).values()].reduce(
    (sum, ofKind) => sum + new Set(ofKind.map(({ id }) => id)).size,
    0,
  );

/**
 * Waits until every watermark has passed an instant, or the others stand still, which it reports. Resolves to whether
 * all have passed it.
 */
export async function watermarksPassed(
  watermarks: ReadWatermarks,
  instant: Date,
  { report, nowMs = () => performance.now() }: Pick<RecheckDeps, 'report' | 'nowMs'>,
): Promise<boolean> {
  let before = '';
  let movedAtMs = nowMs();
  const readLagging = async () => {
    const lagging = (await watermarks())
      .filter((completeTo) => completeTo <= instant)
      .map(Number)
      .join();
    if (lagging !== before) movedAtMs = nowMs();
    before = lagging;
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
