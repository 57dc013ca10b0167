import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import {
  differencesOf,
  isExpected,
  type Difference,
  type DifferenceClass,
  type Expectation,
  type Seen,
} from './differences.ts';

/** A document beside the one that it should equal. */
export type Pair = { expected: Seen | null; actual: Seen | null };

/** What is compared: the documents of two generations, or those of one with what a fresh join gives. */
export type Comparison = {
  /** All documents of a kind, in batches. */
  scan: (kind: Kind) => AsyncIterable<Pair[]>;
  /** The same documents again. */
  again: (kind: Kind, ids: string[]) => Promise<Pair[]>;
  /** The watermarks of what is compared. */
  watermarks: () => Promise<Date[]>;
};

export type Verification = {
  compared: number;
  /** Differences that remained, by class, without the expected ones. */
  counts: Partial<Record<DifferenceClass, number>>;
  differences: number;
  expected: number;
  samples: Difference[];
  /** More documents differed than are remembered. The others were not looked at again, and count as one difference each. */
  isCutShort: boolean;
};

export type VerifyOptions = {
  expectations: Expectation[];
  now: () => Promise<Date>;
  report: (line: string) => void;
  /** How many differing documents are remembered, to be looked at again. */
  rememberedMax?: number;
};

/** The default of `rememberedMax`. */
const candidatesMax = 20_000;
const againAtOnce = 200;
const samplesMax = 20;
/** A document that keeps changing may differ by chance each time; after this many times it counts as different. */
const rounds = 3;
/** If a watermark has not moved for this long, nobody follows the generation; in milliseconds. */
const stallMs = 15_000;

/** Documents that differed when they were last looked at: what each looked like then, by kind and id. */
type Candidates = Map<Kind, Map<string, string>>;

/**
 * Compares every document. A difference counts only if it is still there after every watermark has passed the moment at
 * which it was seen: what one side had not applied yet is applied then. A document that has changed meanwhile is looked
 * at once more, since its latest change may not have reached both sides.
 */
export async function verify(comparison: Comparison, options: VerifyOptions): Promise<Verification> {
  const { expectations, now, report } = options;
  const { compared, candidates, expected, forgotten } = await scanAll(comparison, options);
  const remaining: Difference[] = [];
  let open = candidates;
  for (let round = 1; round <= rounds && sizeOf(open) > 0; round += 1) {
    report(
      `${sizeOf(open)} documents differ; waiting until both sides have applied the present, to look again`,
    );
    const at = await now();
    await settled(comparison, at);
    const changing: Candidates = new Map();
    for (const [kind, before] of open)
      for (const pair of await lookAgain(comparison, kind, [...before.keys()])) {
        const found = differencesOf(kind, pair.expected, pair.actual, at);
        const [first] = found;
        if (!first) continue;
        const isSame = before.get(first.id) === appearanceOf(pair);
        if (isSame || round === rounds) remaining.push(...found);
        else remember(changing, first, pair);
      }
    open = changing;
  }
  const unexpected = remaining.filter((one) => !isExpected(one, expectations));
  const counts: Verification['counts'] = {};
  for (const { class: name } of unexpected) counts[name] = (counts[name] ?? 0) + 1;
  return {
    ...{ compared, counts, isCutShort: forgotten > 0, samples: unexpected.slice(0, samplesMax) },
    differences: unexpected.length + forgotten,
    expected: expected + remaining.length - unexpected.length,
  };
}

/** Documents that differ only as expected are not looked at again: a projection may change every document. */
async function scanAll(
  comparison: Comparison,
  { expectations, now, report, rememberedMax = candidatesMax }: VerifyOptions,
) {
  const candidates: Candidates = new Map();
  const sum = { compared: 0, expected: 0, forgotten: 0 };
  for (const kind of kinds) {
    let ofKind = 0;
    for await (const pairs of comparison.scan(kind)) {
      ofKind += pairs.length;
      const at = await now();
      for (const pair of pairs) {
        const found = differencesOf(kind, pair.expected, pair.actual, at);
        const unexpected = found.find((one) => !isExpected(one, expectations));
        if (!unexpected) sum.expected += found.length;
        else if (sizeOf(candidates) >= rememberedMax) sum.forgotten += 1;
        else remember(candidates, unexpected, pair);
      }
    }
    sum.compared += ofKind;
    report(`${kind}: ${ofKind} compared, ${candidates.get(kind)?.size ?? 0} differ at first sight`);
  }
  return { ...sum, candidates };
}

const remember = (candidates: Candidates, { kind, id }: Difference, pair: Pair) =>
  candidates.set(kind, (candidates.get(kind) ?? new Map<string, string>()).set(id, appearanceOf(pair)));

const appearanceOf = (pair: Pair): string => createHash('sha1').update(JSON.stringify(pair)).digest('base64');

const sizeOf = (candidates: Candidates): number =>
  [...candidates.values()].reduce((sum, { size }) => sum + size, 0);

async function lookAgain({ again }: Comparison, kind: Kind, ids: string[]): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let start = 0; start < ids.length; start += againAtOnce)
    pairs.push(...(await again(kind, ids.slice(start, start + againAtOnce))));
  return pairs;
}

/** Waits until every watermark has passed an instant, or until nobody moves those that have not. */
async function settled({ watermarks }: Comparison, seenAt: Date): Promise<void> {
  let before = '';
  let movedAt = performance.now();
  for (;;) {
    const behind = (await watermarks()).filter((completeTo) => completeTo <= seenAt);
    if (behind.length === 0) return;
    const present = behind.map((completeTo) => completeTo.getTime()).join();
    if (present !== before) movedAt = performance.now();
    else if (performance.now() - movedAt > stallMs) return;
    before = present;
    await sleep(500);
  }
}
