import { isDeepStrictEqual } from 'node:util';
import {
  generationOf,
  type GenerationRegistry,
  RebuildRefused,
  replaceRegistry,
} from '../../../shared/control/generations.ts';
import type { InLog, LedgerRecord } from '../../../shared/control/ledger.ts';
import {
  carryOverDeadLetters,
  closeGeneration,
  countUnapplied,
} from '../../../shared/control/ledger-store.ts';
import { readLogGaps } from '../../../shared/control/log-gaps.ts';
import { readLiveReplicas, type Replica } from '../../../shared/control/processes.ts';
import { isRecreated, readProgress } from '../../../shared/control/progress.ts';
import { livingGenerations, requireRegistry } from '../../../shared/control/registry.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { readFactsToAct } from '../facts.ts';
import { blockingFindings, evaluateRules, type Finding, findingsAgainst } from '../findings.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';
import { activate } from './transitions.ts';

export type SwitchResult = {
  generation: number;
  outcome: 'promoted' | 'rolled-back' | 'was-active' | 'refused' | 'dry-run';
  /** The findings against the switch, accepted ones included. */
  findings: Finding[];
  /** The live replicas that still served another generation when the time was up. */
  waiting: Replica[];
};

export type SwitchOptions = {
  /** Selects the checks. A rollback needs no comparison, because it may be an emergency. */
  step: 'promote' | 'rollback';
  why: string;
  dryRun?: boolean | undefined;
  /** How long the generation may take to reach the active one, and then the replicas to serve it. */
  timeoutSeconds: number;
};

/**
 * A dry run waits for at most this long, in seconds: both generations save their positions once a second, so a first
 * comparison of them may find a lag that is already gone.
 */
const dryRunSecondsMax = 10;

/**
 * Makes a generation active, if the checks pass, and waits until every live replica serves it. To finish an interrupted
 * switch, the operator runs it again. Invariant 15 in docs/internals/generations.md.
 */
export async function switchTo(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions,
): Promise<SwitchResult> {
  let switched: SwitchResult | null = null;
  while (switched === null) switched = await trySwitch(deps, number, options);
  return switched;
}

/** Returns null if the generations have changed since the checks. The caller then tries again. */
async function trySwitch(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions,
): Promise<SwitchResult | null> {
  const { step, dryRun, timeoutSeconds } = options;
  const registry = await requireRegistry(deps.control);
  // Throws if the generation does not exist.
  generationOf(registry, number);
  const result = { generation: number, findings: [], waiting: [] };
  if (registry.generation === number) {
    const waiting = await awaitReplicas(deps, number, dryRun ? 0 : timeoutSeconds);
    return { ...result, outcome: 'was-active', waiting };
  }
  const switchFindings = await awaitSwitchable(deps, number, options);
  if (dryRun) return { ...result, findings: switchFindings, outcome: 'dry-run' };
  if (switchFindings.some(({ isAccepted }) => !isAccepted))
    return { ...result, findings: switchFindings, outcome: 'refused' };
  const why = withAccepted(options.why, switchFindings);
  if (!(await activateUnchanged(deps, registry, number, why))) return null;
  deps.report(`generation ${number} is active; waiting for the API replicas`);
  const waiting = await awaitReplicas(deps, number, timeoutSeconds);
  const outcome = step === 'promote' ? 'promoted' : 'rolled-back';
  return { ...result, findings: switchFindings, outcome, waiting };
}

/** Activates the generation. Returns false if the generations have changed since `checked` was read. */
async function activateUnchanged(
  deps: OperatorDeps,
  checked: GenerationRegistry,
  number: number,
  why: string,
): Promise<boolean> {
  await deps.onStep?.('carry over');
  await carryOver(deps, checked.generation, number);
  await reportLacking(deps, number);
  await deps.onStep?.('switch');
  const cause = { by: deps.by, at: await deps.now(), why };
  const latest = await requireRegistry(deps.control);
  // A note in the history affects no check.
  if (!isDeepStrictEqual(withoutHistory(latest), withoutHistory(checked))) {
    // A drop may have closed its dead letters before `carryOver` opened them.
    const isLiving = livingGenerations(latest).some((living) => living.number === number);
    if (!isLiving) await closeGeneration(deps.control, number);
    return false;
  }
  const replaced = await replaceRegistry(deps.control, latest, activate(number, cause)(latest));
  return replaced !== null;
}

const withoutHistory = ({ revision: _revision, history: _history, ...rest }: GenerationRegistry) => rest;

/**
 * Waits while the only obstacle is newer data of the active generation, because both generations apply records all the
 * time. Returns the findings against the switch, accepted ones included.
 */
async function awaitSwitchable(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions,
): Promise<Finding[]> {
  const { step, dryRun, timeoutSeconds } = options;
  const previous = await readFactsToAct(deps);
  const read = async () => evaluateRules(await readFactsToAct(deps, previous));
  const reportChange = reportChanges(deps.report);
  const blocking = (all: Finding[]) => blockingFindings(all, number, step);
  const isOnlyOlder = (all: Finding[]) =>
    blocking(all).length > 0 && blocking(all).every(({ acceptAs }) => acceptAs === 'older');
  const waitSeconds = dryRun ? Math.min(timeoutSeconds, dryRunSecondsMax) : timeoutSeconds;
  const last = await pollUntil(read, (all) => !isOnlyOlder(all), {
    everyMs: 500,
    timeoutMs: waitSeconds * 1_000,
    onPending: (all) => reportChange(`waiting: ${blocking(all)[0]?.text ?? ''}`),
  });
  return findingsAgainst(last, number, step);
}

/** The operator's reason and the accepted findings, for the history. */
function withAccepted(why: string, switchFindings: Finding[]): string {
  const accepted = switchFindings.filter(({ isAccepted }) => isAccepted);
  return [why, ...accepted.map(({ name, text }) => `accepted ${name}: ${text}`)].join('; ');
}

/**
 * Keeps the dead letters of the active generation open for the new one if Kafka has lost their records: the new one
 * cannot have read them. While the leader of a partition does not answer, its records count as `unknown`, and their
 * dead letters stay open too. Invariant 17 in docs/internals/generations.md.
 */
async function carryOver(deps: OperatorDeps, from: number, to: number): Promise<void> {
  const { control } = deps;
  const progress = await readProgress(control, from);
  const losses = (await readLogGaps(control, from)).filter(({ kind }) => kind !== 'deleted');
  const firstLost = new Map(losses.map((gap) => [partitionKey(gap), gap.from]));
  const readAt = await deps.now();
  const { ends, topicIds } = await deps.log.read(deps.topics);
  const recreatedProgress = progress.filter((saved) => isRecreated(saved, topicIds));
  const recreatedTopics = new Set(recreatedProgress.map(({ topic }) => topic));
  const findInLog = (record: LedgerRecord): InLog => {
    const { topic, offset, firstAt } = record;
    const key = partitionKey(record);
    if (recreatedTopics.has(topic) || offset >= (firstLost.get(key) ?? Infinity)) return 'lost';
    const log = ends.get(key);
    if (!log) return 'unknown';
    if (offset < log.low) return 'lost';
    // A record that was rejected after `readAt` may lie beyond the end that was read then.
    return offset >= log.end && firstAt < readAt ? 'lost' : 'present';
  };
  await carryOverDeadLetters(control, { from, to }, findInLog);
}

async function reportLacking({ control, report }: OperatorDeps, number: number): Promise<void> {
  const counts = await countUnapplied(control, number);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total > 0) report(`generation ${number} lacks the effect of ${counted(total, 'dead letter')}`);
}

/**
 * Waits until every live replica serves the generation. Returns the replicas that do not when the time is up. Throws if
 * another operator has switched back meanwhile, because a repeated command would undo that.
 */
async function awaitReplicas(
  { control, now, onStep }: OperatorDeps,
  number: number,
  timeoutSeconds: number,
): Promise<Replica[]> {
  await onStep?.('wait for replicas');
  const readElsewhere = async () => {
    const { generation: active } = await requireRegistry(control);
    if (active !== number)
      throw new RebuildRefused(
        `generation ${number} was active, but another operator has made generation ${active} active since`,
        'rebuild history',
      );
    const replicas = await readLiveReplicas(control, await now());
    return replicas.filter(({ generation }) => generation !== number);
  };
  return pollUntil(readElsewhere, (elsewhere) => elsewhere.length === 0, {
    everyMs: 250,
    timeoutMs: timeoutSeconds * 1_000,
  });
}
