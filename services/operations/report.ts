import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationState } from '../../shared/control/generations.ts';
import type { Facts, ReadFacts } from './facts.ts';
import {
  type Condition,
  conditionOf,
  evaluateRules,
  type Finding,
  findingsOf,
  type Verdict,
  verdictOf,
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
  /** The state, or `lagging`, `failing`, `stopped` or `stalled` if one of these applies. */
  condition: Condition;
  projectionVersion: number;
  watermark: Date | null;
  /** The lag of the watermark in seconds, less the lateness allowance; null before there is a watermark. */
  lagSeconds: number | null;
  /** The lag in records: how many are still to be applied. */
  lag: number;
  /** The number of records that a build applies after its load. */
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
  /** The served generation comes first. */
  generations: GenerationReport[];
  /** Null if MongoDB did not count them. */
  deadLetters: number | null;
  /** The number of tokens that are refused because several keys have them; null if it was not counted. */
  sharedTokens: number | null;
  /** The parts that MongoDB refused to count. */
  notCounted: NotCounted[];
};

/** The condition follows from `all` findings; the report lists only the `listed` ones. */
const reportGeneration = (all: Finding[], listed: Finding[], facts: GenerationFacts): GenerationReport => ({
  number: facts.generation.number,
  state: facts.generation.state,
  condition: conditionOf(all, facts),
  projectionVersion: facts.generation.projectionVersion,
  watermark: facts.watermark,
  lagSeconds: facts.lagSeconds,
  lag: facts.lag,
  afterLoad: facts.recordsAfterLoad,
  savedAt: facts.savedAt,
  findings: findingsOf(listed, facts),
  topics: facts.topics,
  partitions: facts.partitions,
});

/** The facts and findings as `status --json` prints them. */
export function reportOf(facts: Facts, all = evaluateRules(facts)): Report {
  const listed = withoutConsequences(all);
  const { state, sentence } = verdictOf(all, facts);
  const active = facts.registry?.generation ?? null;
  return {
    verdict: state,
    sentence,
    active,
    findings: listed.filter(({ generation }) => generation === null),
    generations: facts.generations
      .toSorted((a, b) => Number(b.generation.number === active) - Number(a.generation.number === active))
      .map((generationFacts) => reportGeneration(all, listed, generationFacts)),
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
  let facts = await patientRead(() => read(null));
  for (;;) {
    await sleep(intervalMs);
    facts = await patientRead(() => read(facts));
    yield reportOf(facts);
  }
}
