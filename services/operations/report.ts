import { setTimeout as sleep } from 'node:timers/promises';
import type { Facts, GenerationFacts, ReadFacts } from './facts.ts';
import { causes, condition, findings, findingsOf, verdict, type Finding } from './findings.ts';
import { createPatience } from './poll-until.ts';

export type Report = ReturnType<typeof report>;
export type GenerationReport = ReturnType<typeof reportGeneration>;

const reportGeneration = (all: Finding[], shown: Finding[], own: GenerationFacts) => ({
  number: own.generation.number,
  state: own.generation.state,
  condition: condition(all, own),
  projectionVersion: own.generation.projectionVersion,
  watermark: own.watermark,
  lagSeconds: own.lagSeconds,
  /** In records. */
  lag: own.lag,
  afterLoad: own.recordsAfterLoad,
  savedAt: own.savedAt,
  findings: findingsOf(shown, own),
  topics: own.topics,
  partitions: own.partitions,
});

/** The output of `status`, `rebuild status` and the console: the facts with their findings. */
export function report(facts: Facts, all = findings(facts)) {
  const shown = causes(all);
  const { state, sentence } = verdict(facts, all);
  const active = facts.registry?.generation ?? null;
  return {
    verdict: state,
    sentence,
    /** The number of the active generation; null before a projector has first started. */
    active,
    /** Those of the whole system; a generation has its own. */
    findings: shown.filter(({ generation }) => generation === null),
    /** The served one first. */
    generations: facts.generations
      .toSorted((a, b) => Number(b.generation.number === active) - Number(a.generation.number === active))
      .map((one) => reportGeneration(all, shown, one)),
    deadLetters: facts.deadLetters,
    /** The number of tokens that are refused because several keys have them; null if it was not counted. */
    sharedTokens: facts.sharedTokens?.length ?? null,
    notCounted: facts.notCounted,
  };
}

/** A rate needs two readings, this long apart. */
const intervalMs = 2_000;

/** Yields a report every two seconds. */
export async function* watchReports(read: ReadFacts): AsyncGenerator<Report, never> {
  const patiently = createPatience();
  let before = await patiently(() => read(null));
  for (;;) {
    await sleep(intervalMs);
    before = await patiently(() => read(before));
    yield report(before);
  }
}
