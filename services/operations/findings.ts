import { type AcceptableFinding, type GenerationState, isBuild } from '../../shared/control/generations.ts';
import { isOlderAccepted } from '../../shared/control/registry.ts';
import { counted, digits } from '../../shared/runtime/counted.ts';
import { acceptCommand, commandsIn } from './deployment.ts';
import type { Facts } from './facts.ts';
import type { GenerationFacts } from './generation-facts.ts';
import { generationRules, staleAfterSeconds } from './rules/generation.ts';
import type { Rule, RuleFinding, Severity, Step } from './rules/rule.ts';
import { systemRules } from './rules/system.ts';

/** Something that an operator should know, or do. */
export type Finding = {
  name: keyof typeof systemRules | keyof typeof generationRules;
  /** The generation that it is about; null for the whole system. */
  generation: number | null;
  severity: Severity;
  /** The steps that it prevents. */
  blocks: readonly Step[];
  /** The name under which an operator may accept it, and the command; null if no operator can. */
  acceptAs: AcceptableFinding | null;
  accept: string | null;
  /** It fails, but the operator accepted it. */
  isAccepted: boolean;
  /** No projector can ever continue the generation: to wait does not help. */
  isFinal: boolean;
  text: string;
  /** The command that helps; null without one. */
  fix: string | null;
};

type Rules<About> = Readonly<Record<string, Rule<About>>>;

const severities = ['bad', 'attention', 'progress'] as const;

/**
 * Evaluates every rule. The worst findings come first; within a severity, findings about the whole system come first.
 * Pure.
 */
export function findings(facts: Facts): Finding[] {
  const commands = commandsIn[facts.deployment];
  const evaluate = <About>(rules: Rules<About>, about: About, generation: number | null): Finding[] =>
    Object.entries<Rule<About>>(rules).flatMap(([name, rule]) => {
      const results = [rule.evaluate(facts, about, commands) ?? []].flat();
      const found = { name: name as Finding['name'], generation };
      return results.map((one) => ({ ...found, ...findingOf(facts, rule, one, generation) }));
    });
  const all = [
    ...evaluate(systemRules, null, null),
    ...facts.generations.flatMap((one) =>
      ofGeneration(facts, one, evaluate(generationRules, one, one.generation.number)),
    ),
  ];
  return severities.flatMap((severity) => all.filter((one) => one.severity === severity));
}

/** Completes the finding of a rule with the severity and the rest of its rule. */
function findingOf(
  facts: Facts,
  { severity, blocks, acceptAs: ofRule }: Pick<Rule<never>, 'severity' | 'blocks' | 'acceptAs'>,
  one: RuleFinding | string,
  generation: number | null,
): Omit<Finding, 'name' | 'generation'> {
  const details = typeof one === 'string' ? { text: one } : one;
  const acceptAs = details.acceptAs ?? ofRule ?? null;
  const about = generation ?? facts.registry?.generation ?? 1;
  const accept = acceptAs && acceptCommand(commandsIn[facts.deployment], acceptAs, about);
  const isAccepted = acceptAs === 'older' && isOlder(facts, about);
  return { severity, blocks, isAccepted, isFinal: false, fix: null, ...details, acceptAs, accept };
}

/** Whether an operator has accepted that a generation has older data. Any other acceptance ends its finding. */
function isOlder({ registry, now }: Facts, number: number): boolean {
  const generation = registry?.generations.find((one) => one.number === number);
  return generation !== undefined && isOlderAccepted(generation, registry?.since ?? now, now);
}

/** For a generation that is not served, lowers `bad` to `attention`. Keeps `next` only if nothing blocks the step. */
function ofGeneration({ registry }: Facts, { generation }: GenerationFacts, all: Finding[]): Finding[] {
  const { number, state } = generation;
  const found = all.map((one) =>
    number !== registry?.generation && one.severity === 'bad'
      ? { ...one, severity: 'attention' as const }
      : one,
  );
  const step = state === 'standby' ? 'rollback' : 'promote';
  const isBlocked = found.some((one) => one.blocks.includes(step) && !one.isAccepted);
  // To wait for a generation that no projector can continue does not help.
  const isOver = found.some((one) => one.name === 'projectors' && one.isFinal);
  return found.filter(
    ({ name, severity }) => !(isOver && severity === 'progress') && (name !== 'next' || !isBlocked),
  );
}

/** The findings against a step with a generation, accepted ones included. */
export const against = (all: Finding[], number: number, step: Step): Finding[] =>
  all.filter(
    ({ generation, blocks }) => (generation === number || generation === null) && blocks.includes(step),
  );

/** The findings that prevent a step with a generation. */
export const blocking = (all: Finding[], number: number, step: Step): Finding[] =>
  against(all, number, step).filter(({ isAccepted }) => !isAccepted);

/** The rules of a step that pass, or whose finding the operator accepted. */
export const metChecks = (all: Finding[], number: number, step: Step) =>
  Object.entries<Rule<GenerationFacts>>(generationRules)
    .filter(([, { blocks }]) => blocks.includes(step))
    .flatMap(([name, { passes = name }]) => {
      const found = against(all, number, step).find((one) => one.name === name);
      return found && !found.isAccepted
        ? []
        : [{ isAccepted: found !== undefined, text: found?.text ?? passes }];
    });

/** The findings to show of a generation: a standby needs no comparison. */
export const findingsOf = (all: Finding[], { generation: { number, state } }: GenerationFacts): Finding[] =>
  all.filter(
    ({ generation, blocks }) =>
      generation === number && !(state === 'standby' && blocks.length === 1 && blocks[0] === 'promote'),
  );

/**
 * The findings that no other finding explains. A generation must lag without projectors, Kafka or a topic.
 * Projectors and replicas cannot save that they run while MongoDB has no majority.
 */
export function causes(all: Finding[]): Finding[] {
  const isUnconfirmed = all.some(({ name }) => name === 'majority');
  const isLogAway = all.some(
    ({ name, severity }) => name === 'kafka' || (name === 'missing' && severity === 'bad'),
  );
  const stopped = new Set(all.flatMap((one) => (one.name === 'projectors' ? one.generation : [])));
  return all.filter(
    ({ name, generation, fix }) =>
      !(name === 'lag' && (isLogAway || isUnconfirmed || stopped.has(generation))) &&
      !(name === 'projectors' && fix === null && (isLogAway || isUnconfirmed)) &&
      !(name === 'api' && isUnconfirmed),
  );
}

/** Whether customers get current data, in one sentence. */
export type Verdict = {
  state: 'well' | 'attention' | 'bad';
  sentence: string;
  /** The finding that the sentence names. */
  finding?: Finding;
};

export function verdict(facts: Facts, all: Finding[]): Verdict {
  const first = all.find((one) => comesFirst(facts, one));
  if (first) return { state: 'bad', sentence: `Not well: ${first.text}.`, finding: first };
  const active = facts.generations.find(({ generation }) => generation.state === 'active');
  if (!active) return { state: 'bad', sentence: 'Unknown: no projector has started on this database.' };
  if (active.lagSeconds === null) return { state: 'bad', sentence: firstLoad(active) };
  if (active.lagSeconds > staleAfterSeconds)
    return { state: 'bad', sentence: `Stale: Data-As-Of lags by ${digits(active.lagSeconds)} s.` };
  const [worst] = all;
  if (worst?.severity === 'bad')
    return { state: 'bad', sentence: `Not well: ${worst.text}.`, finding: worst };
  const count = all.filter(({ severity }) => severity === 'attention').length;
  if (count === 0) return { state: 'well', sentence: 'All is well.' };
  const need = count === 1 ? 'one finding needs' : `${count} findings need`;
  return { state: 'attention', sentence: `The data is current, but ${need} attention.` };
}

/** Whether a finding reports a loss without which a replica serves nothing, or a MongoDB that confirms no write. */
function comesFirst({ registry, leftovers }: Facts, { name, generation, severity }: Finding): boolean {
  if (name === 'registry') return leftovers.length > 0;
  if (name === 'majority' || (name === 'lost' && generation === null)) return true;
  const isOfServed = generation === registry?.generation;
  return (
    isOfServed && severity === 'bad' && (name === 'watermark' || name === 'structures' || name === 'lost')
  );
}

/** A generation has a watermark once every partition was applied to the end of its log. */
function firstLoad({ partitions }: GenerationFacts): string {
  const sum = (field: 'position' | 'end') => partitions.reduce((total, one) => total + one[field], 0);
  const applied = `${digits(sum('position'))} of ${counted(sum('end'), 'record')}`;
  return `First load: ${applied} applied, so there is no Data-As-Of yet.`;
}

export type Condition = GenerationState | 'lagging' | 'failing' | 'stopped' | 'stalled';

/** The state of a generation, unless it lags, fails (a build with dead letters of its own), is stopped or stalled. */
export function condition(all: Finding[], own: GenerationFacts): Condition {
  const { state } = own.generation;
  const found = (name: Finding['name']) => findingsOf(all, own).find((one) => one.name === name);
  const projectors = found('projectors');
  if (projectors && own.savedAt) return projectors.fix === null ? 'stalled' : 'stopped';
  if (found('rejects') && isBuild(own.generation)) return 'failing';
  return found('lag') && (own.lagSeconds ?? Infinity) > staleAfterSeconds ? 'lagging' : state;
}
