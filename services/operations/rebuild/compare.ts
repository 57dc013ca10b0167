import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import {
  type Difference,
  type DifferenceClass,
  differencesOf,
  type DocumentPair,
  type Expectation,
  isExpected,
} from './differences.ts';
import { countDocuments, recheck, recheckMax } from './recheck.ts';

/** Reads the documents of two generations. */
export type PairSource = {
  /** All documents of a kind in batches, tombstone documents included. */
  scan: (kind: Kind) => AsyncIterable<DocumentPair[]>;
  reread: (kind: Kind, ids: string[]) => Promise<DocumentPair[]>;
  /**
   * Completes pairs whose presentation depends on other documents: a ticket's further conversations, and whether a
   * message is served. Only pairs that differ as stored need this. A document that the API does not serve is null.
   */
  asPresented: (kind: Kind, pairs: DocumentPair[], now: Date) => Promise<DocumentPair[]>;
  /** The watermarks of both sides. A partition that waits only for an open transaction does not hold a watermark. */
  watermarks: () => Promise<Date[]>;
};

export type ComparisonResult = {
  /** Documents that were compared, without tombstone documents. */
  compared: number;
  /** Documents whose unexpected differences remained after the rechecks. */
  differing: number;
  /** The unexpected differences that remained, by class. */
  counts: Partial<Record<DifferenceClass, number>>;
  /** The number of unexpected differences that remained. */
  differences: number;
  /** The number of differences that the operator expects. */
  expected: number;
  /** The first of the unexpected differences that remained. */
  samples: Difference[];
  /** Too many documents differed. Those beyond the limit were compared once, and count as one difference each. */
  isCutShort: boolean;
};

export type CompareOptions = Pick<OperatorDeps, 'now' | 'report'> & {
  expectations: Expectation[];
  /** The number of differing documents to compare again, at most; `recheckMax` by default. */
  recheckAtMost?: number;
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number;
};

/** A recheck reads this many documents in one batch. */
const rereadAtOnce = 200;
const samplesMax = 20;

/**
 * Compares every document, and counts the differences that are not only due to lag: Invariant 18 in
 * docs/internals/generations.md.
 */
export async function compareDocuments(
  source: PairSource,
  options: CompareOptions,
): Promise<ComparisonResult> {
  const { compared, candidates, expected, overflow } = await scanAll(source, options);
  const deps = { ...options, watermarks: source.watermarks };
  const remaining = await recheck(deps, candidates, (kind, ids, at) => reread(source, kind, ids, at));
  const unexpected = remaining.filter((difference) => !isExpected(difference, options.expectations));
  const intendedAfterRecheck = remaining.length - unexpected.length;
  const counts: ComparisonResult['counts'] = {};
  for (const { class: name } of unexpected) counts[name] = (counts[name] ?? 0) + 1;
  return {
    compared,
    differing: countDocuments(unexpected) + overflow,
    counts,
    differences: unexpected.length + overflow,
    expected: expected + intendedAfterRecheck,
    samples: unexpected.slice(0, samplesMax),
    isCutShort: overflow > 0,
  };
}

/** The outcome of the first comparison. */
type Scan = Pick<ComparisonResult, 'compared' | 'expected'> & {
  /** An unexpected difference of each document to compare again. */
  candidates: Difference[];
  /** Documents with an unexpected difference that are not compared again. */
  overflow: number;
};

/**
 * Compares every document once. Only documents with an unexpected difference are candidates for a recheck, because an
 * expected difference may concern every document.
 */
async function scanAll(source: PairSource, options: CompareOptions): Promise<Scan> {
  const scan: Scan = { compared: 0, expected: 0, candidates: [], overflow: 0 };
  for (const kind of kinds) {
    let comparedOfKind = 0;
    const candidatesBefore = scan.candidates.length;
    for await (const pairs of source.scan(kind)) {
      comparedOfKind += pairs.filter(hasState).length;
      const documents = await findDifferences(source, kind, pairs, await options.now());
      for (const differences of documents) addDocument(scan, differences, options);
    }
    scan.compared += comparedOfKind;
    const differing = scan.candidates.length - candidatesBefore;
    options.report(`${kind}: ${comparedOfKind} compared, ${differing} differ in the first comparison`);
  }
  return scan;
}

/** Counts a document that differs. */
function addDocument(
  scan: Scan,
  differences: Difference[],
  { expectations, recheckAtMost = recheckMax }: CompareOptions,
): void {
  // One difference is enough, because a recheck compares the whole document again.
  const unexpected = differences.find((difference) => !isExpected(difference, expectations));
  if (!unexpected) scan.expected += differences.length;
  else if (scan.candidates.length < recheckAtMost) scan.candidates.push(unexpected);
  else scan.overflow += 1;
}

/** Whether at least one side has the document with a state, not only a tombstone document. */
const hasState = ({ expected, actual }: DocumentPair): boolean => Boolean(expected?.state ?? actual?.state);

/** The differences of each pair that differs as presented. Only pairs that differ as stored cost further reads. */
export async function findDifferences(source: PairSource, kind: Kind, pairs: DocumentPair[], now: Date) {
  const compare = (pair: DocumentPair) => differencesOf(kind, pair, now);
  const unequalAsStored = pairs.filter((pair) => compare(pair).length > 0);
  if (unequalAsStored.length === 0) return [];
  const presented = await source.asPresented(kind, unequalAsStored, now);
  return presented.map(compare).filter((differences) => differences.length > 0);
}

async function reread(source: PairSource, kind: Kind, ids: string[], now: Date): Promise<Difference[]> {
  const found: Difference[][] = [];
  for (let start = 0; start < ids.length; start += rereadAtOnce) {
    const pairs = await source.reread(kind, ids.slice(start, start + rereadAtOnce));
    found.push(...(await findDifferences(source, kind, pairs, now)));
  }
  return found.flat();
}

/** The result in one line. It counts documents and differences, because one document may have several. */
export function resultText(result: ComparisonResult): string {
  const { compared, differing, differences, expected, isCutShort } = result;
  const intended = counted(expected, 'intended difference');
  if (differences === 0) return `${compared} compared: 0 unintended, ${intended}`;
  const unintended = `${differences}${isCutShort ? ' or more' : ''} unintended`;
  return `${compared} compared: ${differing} differ, with ${unintended}, ${intended}`;
}
