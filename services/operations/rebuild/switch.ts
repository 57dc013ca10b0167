import { isDeepStrictEqual } from 'node:util';
import {
  generationOf,
  type GenerationRegistry,
  replaceRegistry,
} from '../../../shared/control/generations.ts';
import type { InLog, LedgerRecord } from '../../../shared/control/ledger.ts';
import { carryOverDeadLetters, countUnapplied } from '../../../shared/control/ledger-store.ts';
import { readLogGaps } from '../../../shared/control/log-gaps.ts';
import { liveReplicas, type Replica } from '../../../shared/control/processes.ts';
import { appliedTopicIds, readProgress } from '../../../shared/control/progress.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { OperatorDeps } from '../deps.ts';
import { factsNow } from '../facts.ts';
import { against, blocking, type Finding, findings } from '../findings.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';
import { activate } from './transitions.ts';

export type Switched = {
  generation: number;
  outcome: 'promoted' | 'rolled-back' | 'was-active' | 'refused' | 'dry-run';
  /** The findings that prevent the switch, and the findings that the operator accepted. */
  findings: Finding[];
  /** Live replicas that still served another generation when the time was up. */
  waiting: Replica[];
};

export type SwitchOptions = {
  /** A rollback in an emergency needs no comparison. */
  step: 'promote' | 'rollback';
  why: string;
  dryRun?: boolean | undefined;
  /** How long the generation may take to reach the active one, and then the replicas to serve it. */
  timeoutSeconds: number;
};

/** Both generations save their positions once a second, so a dry run too has to wait for them. */
const dryRunSecondsMax = 10;

/**
 * Makes a generation active, if the checks pass, and waits until every live replica serves it. To finish an interrupted
 * switch, the operator runs it again. Invariant 15 in docs/internals/generations.md.
 */
export async function switchTo(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions,
): Promise<Switched> {
  const { step, dryRun, timeoutSeconds } = options;
  for (;;) {
    const registry = await requireRegistry(deps.control);
    generationOf(registry, number);
    const wasActive = registry.generation === number;
    const findings = wasActive ? [] : await findSwitch(deps, number, options);
    const switched = { generation: number, findings, waiting: [] };
    if (dryRun && !wasActive) return { ...switched, outcome: 'dry-run' };
    if (findings.some(({ isAccepted }) => !isAccepted)) return { ...switched, outcome: 'refused' };
    if (!wasActive) {
      await deps.onStep?.('carry over');
      await carryOver(deps, registry.generation, number);
      await reportLacking(deps, number);
      await deps.onStep?.('switch');
      const cause = { by: deps.by, at: await deps.now(), why: withAccepted(options.why, findings) };
      // If the generations have changed, the switch repeats its checks. A note in the history does not affect a check.
      const latest = await requireRegistry(deps.control);
      if (!isDeepStrictEqual(withoutHistory(latest), withoutHistory(registry))) continue;
      const next = activate(number, cause)(latest);
      if (!(await replaceRegistry(deps.control, latest, next))) continue;
      deps.report(`generation ${number} is active; waiting for the API replicas`);
    }
    await deps.onStep?.('wait for replicas');
    const waiting = await replicasElsewhere(deps, number, dryRun ? 0 : timeoutSeconds);
    const done = step === 'promote' ? 'promoted' : 'rolled-back';
    return { ...switched, outcome: wasActive ? 'was-active' : done, waiting };
  }
}

const withoutHistory = ({ revision: _revision, history: _history, ...rest }: GenerationRegistry) => rest;

/**
 * The findings that prevent a switch, accepted ones included. Waits while only newer data of the active generation
 * prevents it: both generations apply records all the time.
 */
async function findSwitch(deps: OperatorDeps, number: number, options: SwitchOptions): Promise<Finding[]> {
  const { step, dryRun, timeoutSeconds } = options;
  const before = await factsNow(deps);
  const read = async () => findings(await factsNow(deps, before));
  const reportChange = reportChanges(deps.report);
  const open = (found: Finding[]) => blocking(found, number, step);
  const isBehind = (found: Finding[]) =>
    open(found).length > 0 && open(found).every(({ acceptAs }) => acceptAs === 'older');
  const last = await pollUntil(read, (found) => !isBehind(found), {
    everyMs: 500,
    timeoutMs: 1_000 * (dryRun ? Math.min(timeoutSeconds, dryRunSecondsMax) : timeoutSeconds),
    onPending: (found) => reportChange(`waiting: ${open(found)[0]?.text ?? ''}`),
  });
  return against(last, number, step);
}

/** The operator's reason and the accepted findings, for the history. */
const withAccepted = (why: string, found: Finding[]): string =>
  [
    why,
    ...found.flatMap(({ isAccepted, name, text }) => (isAccepted ? [`accepted ${name}: ${text}`] : [])),
  ].join('; ');

/**
 * Keeps dead letters open for the new generation if Kafka has lost their records, or may have, because the leader of
 * their partition does not answer: Invariant 17.
 */
async function carryOver(deps: OperatorDeps, from: number, to: number): Promise<void> {
  const { control } = deps;
  const applied = appliedTopicIds(await readProgress(control, from));
  const losses = (await readLogGaps(control, from)).filter(({ kind }) => kind !== 'deleted');
  const lostFrom = new Map(losses.map((gap) => [partitionKey(gap), gap.from]));
  const readAt = await deps.now();
  const { ends, topicIds } = await deps.log.read(deps.topics);
  const find = (record: LedgerRecord): InLog => {
    const { topic, offset, firstAt } = record;
    const log = ends.get(partitionKey(record));
    const topicId = applied.get(topic);
    const isOfFormerTopic = topicId !== undefined && (topicIds.get(topic) ?? topicId) !== topicId;
    if (isOfFormerTopic || offset >= (lostFrom.get(partitionKey(record)) ?? Infinity)) return 'lost';
    if (!log) return 'unknown';
    // After this read of the end, a projector may have read a record beyond it.
    return offset < log.low || (offset >= log.end && firstAt < readAt) ? 'lost' : 'held';
  };
  await carryOverDeadLetters(control, { from, to }, find);
}

async function reportLacking({ control, report }: OperatorDeps, number: number): Promise<void> {
  const counts = await countUnapplied(control, number);
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  if (count > 0) report(`generation ${number} lacks the effect of ${counted(count, 'dead letter')}`);
}

/** Waits until every live replica serves the generation. Returns the replicas that do not when the time is up. */
const replicasElsewhere = ({ control, now }: OperatorDeps, number: number, timeoutSeconds: number) =>
  pollUntil(
    async () => (await liveReplicas(control, await now())).filter(({ generation }) => generation !== number),
    (elsewhere) => elsewhere.length === 0,
    { everyMs: 250, timeoutMs: timeoutSeconds * 1_000 },
  );
