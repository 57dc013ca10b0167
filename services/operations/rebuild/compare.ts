import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import {
  differencesOf,
  isExpected,
  type ComparedDocument,
  type Difference,
  type DifferenceClass,
  type Expectation,
} from './differences.ts';

/** A document beside the one that it should equal. */
export type Pair = { expected: ComparedDocument | null; actual: ComparedDocument | null };

/** Compares the documents of two generations, or of one generation with a fresh join of its entities. */
export type PairSource = {
  /** All documents of a kind, tombstones too, in batches. */
  scan: (kind: Kind) => AsyncIterable<Pair[]>;
  /** The same documents again. */
  again: (kind: Kind, ids: string[]) => Promise<Pair[]>;
  /** The documents as readers get them, if that depends on other documents; null for one that no reader can get. */
  asPresented: (kind: Kind, pairs: Pair[], now: Date) => Promise<Pair[]>;
  /** The watermarks of both sides. */
  watermarks: () => Promise<Date[]>;
};

export type ComparisonResult = {
  compared: number;
  /** Documents with a difference that remained and is not expected. */
  differing: number;
  /** Differences that remained, by class, without the expected ones. */
  counts: Partial<Record<DifferenceClass, number>>;
  differences: number;
  expected: number;
  samples: Difference[];
  /** More documents differed than are remembered. The others were compared once, and count as one difference each. */
  isCutShort: boolean;
};

export type CompareOptions = {
  expectations: Expectation[];
  /** The time of the store. */
  now: () => Promise<Date>;
  report: (line: string) => void;
  /** How many differing documents are remembered, to be compared again. */
  recheckMax?: number;
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number;
};

/** The default of `recheckMax`. */
const candidatesMax = 20_000;
const againAtOnce = 200;
const samplesMax = 20;
/** A document that keeps changing may differ by chance each time; after this many times it counts as different. */
const rounds = 3;
/** If a watermark has not moved for this long, no projector follows the generation; in milliseconds. */
const stallMs = 15_000;

type Differing = { pair: Pair; found: Difference[] };
/** Documents that differed when they were last compared: a hash of each pair, by kind and id. */
type Candidates = Map<Kind, Map<string, string>>;

/**
 * Compares every document. A difference counts only if it is still there after every watermark has passed the moment at
 * which it was seen: a record that one side had not applied yet is applied then. A document that has changed meanwhile is
 * compared once more, since its latest change may not have reached both sides.
 */
export async function compareDocuments(
  comparison: PairSource,
  options: CompareOptions,
): Promise<ComparisonResult> {
  const { expectations, now, report, nowMs = () => performance.now() } = options;
  const { compared, candidates, expected, forgotten } = await scanAll(comparison, options);
  const remaining: Difference[] = [];
  let open = candidates;
  for (let round = 1; round <= rounds && sizeOf(open) > 0; round += 1) {
    report(
      `${sizeOf(open)} documents differ; waiting until both sides have applied the present, to compare again`,
    );
    const at = await now();
    await passed(comparison, at, nowMs);
    const changing: Candidates = new Map();
    for (const [kind, before] of open)
      for (const { pair, found } of await compareAgain(comparison, kind, [...before.keys()], at)) {
        const [first] = found;
        const isSame = first && before.get(first.id) === appearanceOf(pair);
        if (isSame || round === rounds) remaining.push(...found);
        else if (first) remember(changing, first, pair);
      }
    open = changing;
  }
  const unexpected = remaining.filter((one) => !isExpected(one, expectations));
  const counts: ComparisonResult['counts'] = {};
  for (const { class: name } of unexpected) counts[name] = (counts[name] ?? 0) + 1;
  const documents = new Set(unexpected.map(({ kind, id }) => `${kind} ${id}`)).size;
  return {
    ...{ compared, counts, isCutShort: forgotten > 0, samples: unexpected.slice(0, samplesMax) },
    differing: documents + forgotten,
    differences: unexpected.length + forgotten,
    expected: expected + remaining.length - unexpected.length,
  };
}

/** Documents that differ only as expected are not compared again: a projection may change every document. */
async function scanAll(
  comparison: PairSource,
  { expectations, now, report, recheckMax = candidatesMax }: CompareOptions,
) {
  const candidates: Candidates = new Map();
  const sum = { compared: 0, expected: 0, forgotten: 0 };
  for (const kind of kinds) {
    let ofKind = 0;
    for await (const pairs of comparison.scan(kind)) {
      ofKind += pairs.filter(({ expected, actual }) => expected?.state ?? actual?.state).length;
      for (const { pair, found } of await differing(comparison, kind, pairs, await now())) {
        const unexpected = found.find((one) => !isExpected(one, expectations));
        if (!unexpected) sum.expected += found.length;
        else if (sizeOf(candidates) >= recheckMax) sum.forgotten += 1;
        else remember(candidates, unexpected, pair);
      }
    }
    sum.compared += ofKind;
    report(`${kind}: ${ofKind} compared, ${candidates.get(kind)?.size ?? 0} differ in the first comparison`);
  }
  return { ...sum, candidates };
}

/** The pairs that differ as readers get them. Only pairs that differ as stored cost further reads. */
async function differing(comparison: PairSource, kind: Kind, pairs: Pair[], now: Date): Promise<Differing[]> {
  const compare = ({ expected, actual }: Pair) => differencesOf(kind, expected, actual, now);
  const unequal = pairs.filter((pair) => compare(pair).length > 0);
  const presented = unequal.length > 0 ? await comparison.asPresented(kind, unequal, now) : [];
  return presented.map((pair) => ({ pair, found: compare(pair) })).filter(({ found }) => found.length > 0);
}

const remember = (candidates: Candidates, { kind, id }: Difference, pair: Pair) =>
  candidates.set(kind, (candidates.get(kind) ?? new Map<string, string>()).set(id, appearanceOf(pair)));

const appearanceOf = (pair: Pair): string => createHash('sha1').update(JSON.stringify(pair)).digest('base64');

const sizeOf = (candidates: Candidates): number =>
  [...candidates.values()].reduce((sum, { size }) => sum + size, 0);

async function compareAgain(
  comparison: PairSource,
  kind: Kind,
  ids: string[],
  now: Date,
): Promise<Differing[]> {
  const found: Differing[] = [];
  for (let start = 0; start < ids.length; start += againAtOnce) {
    const pairs = await comparison.again(kind, ids.slice(start, start + againAtOnce));
    found.push(...(await differing(comparison, kind, pairs, now)));
  }
  return found;
}

/** Waits until every watermark has passed an instant, or until the others stand still. */
async function passed({ watermarks }: PairSource, instant: Date, nowMs: () => number): Promise<void> {
  let before = '';
  let movedAtMs = nowMs();
  for (;;) {
    const behind = (await watermarks()).filter((completeTo) => completeTo <= instant);
    if (behind.length === 0) return;
    const present = behind.map((completeTo) => completeTo.getTime()).join();
    if (present !== before) movedAtMs = nowMs();
    else if (nowMs() - movedAtMs > stallMs) return;
    before = present;
    await sleep(500);
  }
}
