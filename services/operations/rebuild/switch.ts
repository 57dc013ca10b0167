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
import type { LogOffsets } from '../../../shared/kafka/log-client.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { readFactsToAct } from '../facts.ts';
import { evaluateRules, type Finding, findingsAgainst } from '../findings.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';
import { activate } from './transitions.ts';

export type SwitchResult = {
  generation: number;
  outcome: 'promoted' | 'rolled-back' | 'was-active' | 'refused' | 'dry-run';
  /** The findings against the switch, accepted ones included. */
  findings: Finding[];
  /** The live replicas that still served another generation when the command stopped waiting for them. */
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
  generation: number,
  options: SwitchOptions,
): Promise<SwitchResult> {
  let switched: SwitchResult | null = null;
  while (switched === null) switched = await trySwitch(deps, generation, options);
  return switched;
}

/** Returns null if the generations have changed since the checks. The caller then tries again. */
async function trySwitch(
  deps: OperatorDeps,
  generation: number,
  options: SwitchOptions,
): Promise<SwitchResult | null> {
  const { step, dryRun, timeoutSeconds } = options;
  const registry = await requireRegistry(deps.control);
  // Throws if the generation does not exist.
  generationOf(registry, generation);
  const result = { generation, findings: [], waiting: [] };
  if (registry.generation === generation) {
    const waiting = await awaitReplicas(deps, generation, dryRun ? 0 : timeoutSeconds);
    return { ...result, outcome: 'was-active', waiting };
  }
  const switchFindings = await awaitSwitchable(deps, generation, options);
  if (dryRun) return { ...result, findings: switchFindings, outcome: 'dry-run' };
  if (switchFindings.some(preventsSwitch)) return { ...result, findings: switchFindings, outcome: 'refused' };
  const why = withAccepted(options.why, switchFindings);
  if (!(await activateUnchanged(deps, registry, generation, why))) return null;
  deps.report(`generation ${generation} is active; waiting for the API replicas`);
  const waiting = await awaitReplicas(deps, generation, timeoutSeconds);
  const outcome = step === 'promote' ? 'promoted' : 'rolled-back';
  return { ...result, findings: switchFindings, outcome, waiting };
}

/** Activates the generation. Returns false if the generations have changed since `checked` was read. */
async function activateUnchanged(
  deps: OperatorDeps,
  checked: GenerationRegistry,
  generation: number,
  why: string,
): Promise<boolean> {
  await deps.onStep?.('carry over');
  await carryOver(deps, checked.generation, generation);
  await reportLacking(deps, generation);
  await deps.onStep?.('switch');
  const cause = { by: deps.by, at: await deps.now(), why };
  const latest = await requireRegistry(deps.control);
  // A note in the history affects no check.
  if (!isDeepStrictEqual(withoutHistory(latest), withoutHistory(checked))) {
    // A drop may have closed its dead letters before `carryOver` opened them.
    const isLiving = livingGenerations(latest).some((living) => living.number === generation);
    if (!isLiving) await closeGeneration(deps.control, generation);
    return false;
  }
  const toActive = activate(generation, cause);
  const replaced = await replaceRegistry(deps.control, latest, toActive(latest));
  return replaced !== null;
}

const withoutHistory = ({ revision: _revision, history: _history, ...rest }: GenerationRegistry) => rest;

/**
 * Waits while the generation only lags behind the active one, because both apply records all the time. Returns the
 * findings against the switch, accepted ones included.
 */
async function awaitSwitchable(
  deps: OperatorDeps,
  generation: number,
  options: SwitchOptions,
): Promise<Finding[]> {
  const { step, dryRun, timeoutSeconds } = options;
  const previous = await readFactsToAct(deps);
  const readFindings = async () => {
    const findings = evaluateRules(await readFactsToAct(deps, previous));
    return findingsAgainst(findings, generation, step);
  };
  const reportChange = reportChanges(deps.report);
  const waitSeconds = dryRun ? Math.min(timeoutSeconds, dryRunSecondsMax) : timeoutSeconds;
  return pollUntil(readFindings, (findings) => !onlyLags(findings), {
    everyMs: 500,
    timeoutMs: waitSeconds * 1_000,
    onPending: (findings) => reportChange(`waiting: ${findings.find(preventsSwitch)?.text ?? ''}`),
  });
}

/** Whether a finding against the switch prevents it. */
const preventsSwitch = ({ isAccepted }: Finding) => !isAccepted;

/** Whether nothing prevents the switch except older data in the generation than in the active one. */
function onlyLags(switchFindings: Finding[]): boolean {
  const obstacles = switchFindings.filter(preventsSwitch);
  return obstacles.length > 0 && obstacles.every(({ acceptAs }) => acceptAs === 'older');
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
  const logs: LogsAtSwitch = { recreatedTopics, firstLost, ends, readAt };
  await carryOverDeadLetters(control, { from, to }, (record) => findInLog(record, logs));
}

/** The logs of the active generation before a switch. The keys of the maps are `<topic>/<partition>`. */
type LogsAtSwitch = {
  recreatedTopics: Set<string>;
  /** The first offset that a log has lost and may use again. */
  firstLost: Map<string, number>;
  /** The ends of the logs whose leaders answer, not before `readAt`. */
  ends: Map<string, LogOffsets>;
  readAt: Date;
};

function findInLog(record: LedgerRecord, { recreatedTopics, firstLost, ends, readAt }: LogsAtSwitch): InLog {
  if (recreatedTopics.has(record.topic)) return 'lost';
  const key = partitionKey(record);
  const lostFrom = firstLost.get(key);
  if (lostFrom !== undefined && record.offset >= lostFrom) return 'lost';
  const log = ends.get(key);
  if (!log) return 'unknown';
  if (record.offset < log.low) return 'lost';
  if (record.offset < log.end) return 'present';
  // A record that was rejected after `readAt` may lie beyond the end that was read then.
  return record.firstAt < readAt ? 'lost' : 'present';
}

async function reportLacking({ control, report }: OperatorDeps, generation: number): Promise<void> {
  const counts = await countUnapplied(control, generation);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total > 0) report(`generation ${generation} lacks the effect of ${counted(total, 'dead letter')}`);
}

/**
 * Waits until every live replica serves the generation. Returns the replicas that do not when the time is up. Throws if
 * another operator has switched back meanwhile, because a repeated command would undo that.
 */
async function awaitReplicas(
  { control, now, onStep }: OperatorDeps,
  generation: number,
  timeoutSeconds: number,
): Promise<Replica[]> {
  await onStep?.('wait for replicas');
  const readElsewhere = async () => {
    const { generation: active } = await requireRegistry(control);
    if (active !== generation)
      throw new RebuildRefused(
        `generation ${generation} was active, but another operator has made generation ${active} active since`,
        'rebuild history',
      );
    const replicas = await readLiveReplicas(control, await now());
    return replicas.filter((replica) => replica.generation !== generation);
  };
  return pollUntil(readElsewhere, (elsewhere) => elsewhere.length === 0, {
    everyMs: 250,
    timeoutMs: timeoutSeconds * 1_000,
  });
}
