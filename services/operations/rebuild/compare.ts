import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil } from '../poll-until.ts';
import {
  type Difference,
  type DifferenceClass,
  differencesOf,
  type Expectation,
  isExpected,
  type Pair,
} from './differences.ts';

/** Reads the documents of two generations. */
export type PairSource = {
  /** All documents of a kind in batches, tombstone documents included. */
  scan: (kind: Kind) => AsyncIterable<Pair[]>;
  reread: (kind: Kind, ids: string[]) => Promise<Pair[]>;
  /**
   * The documents as the API presents them, if that depends on other documents; null if the API does not serve them.
   */
  asPresented: (kind: Kind, pairs: Pair[], now: Date) => Promise<Pair[]>;
  /** The watermarks of both sides; a partition where only an open transaction holds it does not count. */
  watermarks: () => Promise<Date[]>;
};

export type ComparisonResult = {
  /** Documents that were compared, without tombstone documents. */
  compared: number;
  /** Documents with a difference that remained and is not expected. */
  differing: number;
  /** Differences that remained and are not expected, by class. */
  counts: Partial<Record<DifferenceClass, number>>;
  /** The number of differences that remained and are not expected. */
  differences: number;
  /** The number of differences that the operator expects. */
  expected: number;
  /** The first of the differences that remained and are not expected. */
  samples: Difference[];
  /** More than `recheckMax` documents differed. The rest were compared once, and count as one difference each. */
  isCutShort: boolean;
};

export type CompareOptions = Pick<OperatorDeps, 'now' | 'report'> & {
  expectations: Expectation[];
  /**
   * The number of differing documents to compare again, at most: the comparison holds a difference of each in memory.
   */
  recheckMax?: number;
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number;
};

const defaultRecheckMax = 20_000;
const rereadAtOnce = 200;
const samplesMax = 20;
/** A document that differs is compared again. After this many times it counts as different. */
const rounds = 3;
/** If a watermark stands still for this long, no projector follows the generation; in milliseconds. */
const stallMs = 15_000;

/** Compares every document. Counts the differences that are not only due to lag: Invariant 18 in generations.md. */
export async function compareDocuments(
  source: PairSource,
  options: CompareOptions,
): Promise<ComparisonResult> {
  const { compared, candidates, expected, overflow } = await scanAll(source, options);
  const remaining = await recheckAll(source, candidates, options);
  const unexpected = remaining.filter((one) => !isExpected(one, options.expectations));
  const counts: ComparisonResult['counts'] = {};
  for (const { class: name } of unexpected) counts[name] = (counts[name] ?? 0) + 1;
  return {
    compared,
    differing: documentsIn(unexpected) + overflow,
    counts,
    differences: unexpected.length + overflow,
    expected: expected + remaining.length - unexpected.length,
    samples: unexpected.slice(0, samplesMax),
    isCutShort: overflow > 0,
  };
}

/** A document whose differences are all expected is not a candidate, because a projection may change every document. */
async function scanAll(
  source: PairSource,
  { expectations, now, report, recheckMax = defaultRecheckMax }: CompareOptions,
) {
  const candidates: Difference[] = [];
  const sum = { compared: 0, expected: 0, overflow: 0 };
  for (const kind of kinds) {
    let ofKind = 0;
    const before = candidates.length;
    for await (const pairs of source.scan(kind)) {
      ofKind += pairs.filter(({ expected, actual }) => expected?.state ?? actual?.state).length;
      for (const found of await differences(source, kind, pairs, await now())) {
        const unexpected = found.find((one) => !isExpected(one, expectations));
        if (!unexpected) sum.expected += found.length;
        else if (candidates.length >= recheckMax) sum.overflow += 1;
        else candidates.push(unexpected);
      }
    }
    sum.compared += ofKind;
    report(`${kind}: ${ofKind} compared, ${candidates.length - before} differ in the first comparison`);
  }
  return { ...sum, candidates };
}

/** Compares documents until no difference can be due to lag. Returns the differences that remain. */
async function recheckAll(
  source: PairSource,
  candidates: Difference[],
  { now, report, nowMs = () => performance.now() }: CompareOptions,
): Promise<Difference[]> {
  let remaining = candidates;
  for (let round = 1; round <= rounds && remaining.length > 0; round += 1) {
    const differing = counted(documentsIn(remaining), 'document');
    report(`differences in ${differing}; comparing again once both sides have caught up`);
    const at = await now();
    if (!(await watermarksPassed(source.watermarks, at, { report, nowMs }))) round = rounds;
    const before = Map.groupBy(remaining, (one) => one.kind);
    remaining = [];
    for (const [kind, some] of before)
      remaining = remaining.concat(await reread(source, kind, [...new Set(some.map(({ id }) => id))], at));
  }
  return remaining;
}

/** The differences of each pair that differs as presented. Only pairs that differ as stored cost further reads. */
export async function differences(source: PairSource, kind: Kind, pairs: Pair[], now: Date) {
  const compare = (pair: Pair) => differencesOf(kind, pair, now);
  const unequal = pairs.filter((pair) => compare(pair).length > 0);
  const presented = unequal.length > 0 ? await source.asPresented(kind, unequal, now) : [];
  return presented.map(compare).filter((found) => found.length > 0);
}

/** How many documents differ: one may have several differences. */
const documentsIn = (some: Difference[]): number =>
  [...Map.groupBy(some, ({ kind }) => kind).values()].reduce(
    (sum, ofKind) => sum + new Set(ofKind.map(({ id }) => id)).size,
    0,
  );

async function reread(source: PairSource, kind: Kind, ids: string[], now: Date): Promise<Difference[]> {
  const found: Difference[][] = [];
  for (let start = 0; start < ids.length; start += rereadAtOnce) {
    const pairs = await source.reread(kind, ids.slice(start, start + rereadAtOnce));
    found.push(...(await differences(source, kind, pairs, now)));
  }
  return found.flat();
}

/**
 * Waits until every watermark has passed an instant, or the others stand still, which it reports. Resolves to whether
 * all have passed it.
 */
export async function watermarksPassed(
  watermarks: PairSource['watermarks'],
  instant: Date,
  {
    report,
    nowMs = () => performance.now(),
  }: Pick<CompareOptions, 'report'> & { nowMs?: (() => number) | undefined },
): Promise<boolean> {
  let before = '';
  let movedAtMs = nowMs();
  const lagging = async () => {
    const present = (await watermarks())
      .filter((completeTo) => completeTo <= instant)
      .map(Number)
      .join();
    if (present !== before) movedAtMs = nowMs();
    before = present;
    return present;
  };
  const isDone = (present: string) => present === '' || nowMs() - movedAtMs > stallMs;
  const hasPassed = (await pollUntil(lagging, isDone, { everyMs: 500 })) === '';
  if (!hasPassed)
    report(
      `a watermark has stood still for ${stallMs / 1_000} s: the remaining differences may be due to lag`,
    );
  return hasPassed;
}

/** The result in one line. It counts documents and differences, because one document may have several. */
export function resultText(result: ComparisonResult): string {
  const { compared, differing, differences, expected, isCutShort } = result;
  const intended = counted(expected, 'intended difference');
  if (differences === 0) return `${compared} compared: 0 unintended, ${intended}`;
  return (
    `${compared} compared: ${differing} differ, with ${differences}${isCutShort ? ' or more' : ''} unintended, ` +
    intended
  );
}
