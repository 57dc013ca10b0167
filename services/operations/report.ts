import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationState } from '../../shared/control/generations.ts';
import type { Facts, ReadFacts } from './facts.ts';
import {
  type Condition,
  condition,
  type Finding,
  findings,
  findingsOf,
  type Verdict,
  verdict,
  withoutConsequences,
} from './findings.ts';
import type { GenerationFacts } from './generation-facts.ts';
import type { NotCounted } from './optional.ts';
import type { PartitionFacts, TopicFacts } from './partitions.ts';
import { createPatientRead } from './poll-until.ts';

/** A generation with its findings. */
export type GenerationReport = {
  number: number;
  state: GenerationState;
  /** The state, unless it lags, fails, is stopped or stalled. */
  condition: Condition;
  projectionVersion: number;
  watermark: Date | null;
  /** The lag of the watermark, less the lateness allowance; null before there is a watermark. */
  lagSeconds: number | null;
  /** In records. */
  lag: number;
  /** Records that a build applies after its load. */
  afterLoad: number;
  /** When a projector last saved progress; null without saved progress. */
  savedAt: Date | null;
  findings: Finding[];
  topics: TopicFacts[];
  partitions: PartitionFacts[];
};

/** The output of `status`, `rebuild status` and the console. */
export type Report = {
  verdict: Verdict['state'];
  /** The verdict in one sentence. */
  sentence: string;
  /** The number of the active generation; null before a projector has first started. */
  active: number | null;
  /** The findings of the whole system; a generation has its own. */
  findings: Finding[];
  /** The served one first. */
  generations: GenerationReport[];
  /** Null: not counted. */
  deadLetters: number | null;
  /** The number of tokens that are refused because several keys have them; null if it was not counted. */
  sharedTokens: number | null;
  /** The parts that MongoDB refused to count. */
  notCounted: NotCounted[];
};

/** `all` decides the condition; the report lists only the `shown` findings. */
const reportGeneration = (all: Finding[], shown: Finding[], one: GenerationFacts): GenerationReport => ({
  number: one.generation.number,
  state: one.generation.state,
  condition: condition(all, one),
  projectionVersion: one.generation.projectionVersion,
  watermark: one.watermark,
  lagSeconds: one.lagSeconds,
  lag: one.lag,
  afterLoad: one.recordsAfterLoad,
  savedAt: one.savedAt,
  findings: findingsOf(shown, one),
  topics: one.topics,
  partitions: one.partitions,
});

/** The facts and findings as `status --json` prints them. */
export function report(facts: Facts, all = findings(facts)): Report {
  const shown = withoutConsequences(all);
  const { state, sentence } = verdict(facts, all);
  const active = facts.registry?.generation ?? null;
  return {
    verdict: state,
    sentence,
    active,
    findings: shown.filter(({ generation }) => generation === null),
    generations: facts.generations
      .toSorted((a, b) => Number(b.generation.number === active) - Number(a.generation.number === active))
      .map((one) => reportGeneration(all, shown, one)),
    deadLetters: facts.deadLetters,
    sharedTokens: facts.sharedTokens?.length ?? null,
    notCounted: facts.notCounted,
  };
}

/** A rate needs two readings, this long apart. */
const intervalMs = 2_000;

/** Yields a report every two seconds. */
export async function* watchReports(read: ReadFacts): AsyncGenerator<Report, never> {
  const patientRead = createPatientRead();
  let before = await patientRead(() => read(null));
  for (;;) {
    await sleep(intervalMs);
    before = await patientRead(() => read(before));
    yield report(before);
  }
}
