import { type AcceptableFinding, type GenerationState, isBuild } from '../../shared/control/generations.ts';
import { isOlderAccepted } from '../../shared/control/registry.ts';
import { counted, digits } from '../../shared/runtime/counted.ts';
import { acceptCommand, commandsIn } from './deployment.ts';
import type { Facts } from './facts.ts';
import type { GenerationFacts } from './generation-facts.ts';
import { generationRules, staleAfterSeconds } from './rules/generation.ts';
import { activeOf, type OperatorStep, type Rule, type RuleFinding, type Severity } from './rules/rule.ts';
import { systemRules } from './rules/system.ts';

/** Something that an operator should know, or do. */
export type Finding = {
  name: keyof typeof systemRules | keyof typeof generationRules;
  /** The generation that it is about; null for the whole system. */
  generation: number | null;
  severity: Severity;
  /** The steps that it prevents. */
  blocks: readonly OperatorStep[];
  /** The name under which `support-cli accept` takes it; null if no operator can accept it. */
  acceptAs: AcceptableFinding | null;
  /** The command that accepts it. */
  accept: string | null;
  /** The operator has accepted it, so it blocks no step. */
  isAccepted: boolean;
  /** Waiting does not help: no projector can ever continue the generation. */
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
export function evaluateRules(facts: Facts): Finding[] {
  const systemFindings = evaluate(facts, systemRules, null, null);
  const generationFindings = facts.generations.flatMap((generationFacts) => {
    const { number } = generationFacts.generation;
    return adjust(facts, generationFacts, evaluate(facts, generationRules, generationFacts, number));
  });
  const all = [...systemFindings, ...generationFindings];
  return severities.flatMap((severity) => all.filter((finding) => finding.severity === severity));
}

/** Evaluates rules about the whole system, or about a generation: then `generation` is its number. */
function evaluate<About>(
  facts: Facts,
  rules: Rules<About>,
  about: About,
  generation: number | null,
): Finding[] {
  const commands = commandsIn[facts.deployment];
  return Object.entries<Rule<About>>(rules).flatMap(([name, rule]) => {
    const results = [rule.evaluate(facts, about, commands) ?? []].flat();
    return results.map((result) => ({
      name: name as Finding['name'],
      generation,
      ...complete(facts, rule, result, generation),
    }));
  });
}

/** Completes the result of a rule with the severity and the other fields of the rule. */
function complete(
  facts: Facts,
  rule: Pick<Rule<never>, 'severity' | 'blocks' | 'acceptAs'>,
  result: RuleFinding | string,
  generation: number | null,
): Omit<Finding, 'name' | 'generation'> {
  const { severity, blocks } = rule;
  const details = typeof result === 'string' ? { text: result } : result;
  const acceptAs = details.acceptAs ?? rule.acceptAs ?? null;
  const number = generation ?? facts.registry?.generation ?? 1;
  const accept = acceptAs && acceptCommand(commandsIn[facts.deployment], acceptAs, number);
  const isAccepted = acceptAs === 'older' && isOlderDataAccepted(facts, number);
  return { severity, blocks, isAccepted, isFinal: false, fix: null, ...details, acceptAs, accept };
}

/** Whether an operator has accepted the older data of a generation. Other findings end once they are accepted. */
function isOlderDataAccepted({ registry, now }: Facts, number: number): boolean {
  const generation = registry?.generations.find((registered) => registered.number === number);
  return generation !== undefined && isOlderAccepted(generation, registry?.since ?? now, now);
}

/**
 * Adjusts the findings of a generation to its state. Customers do not see a generation that is not served, so `bad`
 * becomes `attention`. A next step is left out while it is blocked or cannot help.
 */
function adjust({ registry }: Facts, { generation }: GenerationFacts, all: Finding[]): Finding[] {
  const { number, state } = generation;
  const isServed = number === registry?.generation;
  const adjusted = all.map((finding) =>
    !isServed && finding.severity === 'bad' ? { ...finding, severity: 'attention' as const } : finding,
  );
  const step = state === 'standby' ? 'rollback' : 'promote';
  const isBlocked = adjusted.some(({ blocks, isAccepted }) => blocks.includes(step) && !isAccepted);
  const cannotContinue = adjusted.some(({ name, isFinal }) => name === 'projectors' && isFinal);
  return adjusted.filter(({ name, severity }) => {
    if (severity === 'progress' && cannotContinue) return false;
    return name !== 'next' || !isBlocked;
  });
}

/** The findings that concern a step with a generation, accepted ones included. */
export const findingsAgainst = (all: Finding[], number: number, step: OperatorStep): Finding[] =>
  all.filter(
    ({ generation, blocks }) => (generation === number || generation === null) && blocks.includes(step),
  );

/** The findings that prevent a step with a generation. */
export const blockingFindings = (all: Finding[], number: number, step: OperatorStep): Finding[] =>
  findingsAgainst(all, number, step).filter(({ isAccepted }) => !isAccepted);

/** A check before a step that passes, or whose finding the operator has accepted. */
type PassedCheck = { text: string; isAccepted: boolean };

/** The checks of a step that do not prevent it. */
export function passedChecks(all: Finding[], number: number, step: OperatorStep): PassedCheck[] {
  const against = findingsAgainst(all, number, step);
  const rules = Object.entries<Rule<GenerationFacts>>(generationRules);
  return rules.flatMap(([name, { blocks, passes = name }]): PassedCheck[] => {
    if (!blocks.includes(step)) return [];
    const finding = against.find((candidate) => candidate.name === name);
    if (!finding) return [{ text: passes, isAccepted: false }];
    return finding.isAccepted ? [{ text: finding.text, isAccepted: true }] : [];
  });
}

/** The findings to show of a generation. A rollback needs no comparison, so a standby shows no finding about one. */
export const findingsOf = (all: Finding[], { generation: { number, state } }: GenerationFacts): Finding[] =>
  all.filter(({ generation, blocks }) => {
    if (generation !== number) return false;
    const blocksOnlyPromotion = blocks.length === 1 && blocks[0] === 'promote';
    return !(state === 'standby' && blocksOnlyPromotion);
  });

/**
 * Leaves out the findings that follow from another finding. Without projectors, Kafka or a topic, every generation
 * lags. While MongoDB has no majority, projectors and replicas cannot store that they run.
 */
export function withoutConsequences(all: Finding[]): Finding[] {
  const hasNoMajority = all.some(({ name }) => name === 'majority');
  const isLogAway = all.some(
    ({ name, severity }) => name === 'kafka' || (name === 'missing' && severity === 'bad'),
  );
  const withoutProjectors = new Set(
    all.flatMap(({ name, generation }) => (name === 'projectors' ? generation : [])),
  );
  return all.filter(({ name, generation, fix }) => {
    if (name === 'lag') return !(isLogAway || hasNoMajority || withoutProjectors.has(generation));
    if (name === 'projectors' && fix === null) return !(isLogAway || hasNoMajority);
    return !(name === 'api' && hasNoMajority);
  });
}

/** Whether customers get current data, in one sentence. */
export type Verdict = {
  state: 'well' | 'attention' | 'bad';
  sentence: string;
  /** The finding that the sentence names. */
  finding?: Finding;
};

/** Whether customers get current data. A loss comes first, then old data, then the worst finding. */
export function verdictOf(all: Finding[], facts: Facts): Verdict {
  const loss = all.find((finding) => outranksLag(facts, finding));
  if (loss) return { state: 'bad', sentence: `Not well: ${loss.text}.`, finding: loss };
  const active = activeOf(facts);
  if (!active) return { state: 'bad', sentence: 'Unknown: no projector has started on this database.' };
  if (active.lagSeconds === null) return { state: 'bad', sentence: firstLoadText(active) };
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

/** Whether the verdict names a finding before a lag: a loss that makes the API answer 503, or no confirmed write. */
function outranksLag({ registry, leftovers }: Facts, { name, generation, severity }: Finding): boolean {
  if (name === 'registry') return leftovers.length > 0;
  if (name === 'majority') return true;
  if (name === 'lost' && generation === null) return true;
  if (generation !== registry?.generation || severity !== 'bad') return false;
  return name === 'watermark' || name === 'structures' || name === 'lost';
}

/** A generation has a watermark once every partition was applied to the end of its log. */
function firstLoadText({ partitions }: GenerationFacts): string {
  const sum = (field: 'position' | 'end') =>
    partitions.reduce((total, partition) => total + partition[field], 0);
  const applied = `${digits(sum('position'))} of ${counted(sum('end'), 'record')}`;
  return `First load: ${applied} applied, so there is no Data-As-Of yet.`;
}

export type Condition = GenerationState | 'lagging' | 'failing' | 'stopped' | 'stalled';

/**
 * One word for a generation: its state, or a fault that is worse news than the state. `stopped`: a command starts its
 * projectors again. `stalled`: nothing is saved, and a restart would not help. `failing`: a build has dead letters that
 * the active generation does not have.
 */
export function conditionOf(all: Finding[], generationFacts: GenerationFacts): Condition {
  const { generation, savedAt, lagSeconds } = generationFacts;
  const generationFindings = findingsOf(all, generationFacts);
  const find = (name: Finding['name']) => generationFindings.find((finding) => finding.name === name);
  const projectors = find('projectors');
  if (projectors && savedAt) return projectors.fix === null ? 'stalled' : 'stopped';
  if (find('rejects') && isBuild(generation)) return 'failing';
  if (find('lag') && (lagSeconds ?? Infinity) > staleAfterSeconds) return 'lagging';
  return generation.state;
}
