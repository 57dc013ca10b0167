import type { GenerationRegistry } from '../../../shared/control/generations.ts';
import { liveReplicas, type Replica } from '../../../shared/control/replicas.ts';
import { deadLettersOf } from '../../../shared/control/dead-letters.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import { pollUntil } from '../poll-until.ts';
import { checkSwitch, type Check, type SwitchOptions } from './checks.ts';
import { logOffsets, type OperatorDeps } from './deps.ts';
import { activate } from './transitions.ts';

export type Switched = {
  number: number;
  outcome: 'promoted' | 'was-active' | 'refused' | 'dry-run';
  checks: Check[];
  /** Live replicas that still served another generation when the time was up. */
  waiting: Replica[];
};

/** Called before each step of a switch or a drop; tests crash there. */
export type OnStep = (step: string) => Promise<void> | void;

/**
 * Makes a generation active, if the checks hold, and waits until every live replica serves it. An interrupted switch is
 * finished by running it again. Invariant 15 in docs/internals/consistency.md.
 */
export async function switchTo(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions & { why: string; dryRun: boolean; timeoutSeconds: number },
  onStep: OnStep = () => undefined,
): Promise<Switched> {
  for (;;) {
    const registry = await requireRegistry(deps.control);
    if (registry.generation === number) {
      const wasActive = { number, outcome: 'was-active' as const, checks: [] };
      if (options.dryRun) return { ...wasActive, waiting: [] };
      if (options.acceptOlder) await acceptOlder(deps);
      await onStep('wait for replicas');
      return { ...wasActive, waiting: await replicasElsewhere(deps, number, options.timeoutSeconds) };
    }
    const checks = await checkSwitch(deps, registry, number, options);
    if (options.dryRun) return { number, outcome: 'dry-run', checks, waiting: [] };
    if (checks.some(({ isMet }) => !isMet)) return { number, outcome: 'refused', checks, waiting: [] };
    await onStep('carry over');
    await carryOver(deps, registry.generation, number);
    await onStep('switch');
    const why = withAccepted(options.why, checks);
    if (!(await switchIfUnchanged(deps, registry, number, { ...options, why }))) continue;
    deps.report(`generation ${number} is active; waiting for the API replicas`);
    await onStep('wait for replicas');
    const waiting = await replicasElsewhere(deps, number, options.timeoutSeconds);
    return { number, outcome: 'promoted', checks, waiting };
  }
}

/** The operator's reason and the conditions that were accepted, for the history. */
const withAccepted = (why: string, checks: Check[]): string =>
  [
    why,
    ...checks.flatMap(({ isAccepted, name, detail }) => (isAccepted ? [`accepted ${name}: ${detail}`] : [])),
  ].join('; ');

/** Replicas then switch without waiting for the active generation to catch up. */
const acceptOlder = ({ control }: OperatorDeps) =>
  changeRegistry(control, (read) => (read.acceptOlder ? read : { ...read, acceptOlder: true }));

/** Returns false if the registry has changed since the checks. */
async function switchIfUnchanged(
  { control, by, now }: OperatorDeps,
  checked: GenerationRegistry,
  number: number,
  options: { why: string; acceptOlder: boolean },
): Promise<boolean> {
  const change = activate(number, { by, at: await now(), why: options.why }, options);
  let isChecked = false;
  await changeRegistry(control, (read) => {
    isChecked = read.revision === checked.revision;
    return isChecked ? change(read) : read;
  });
  return isChecked;
}

/** Keeps dead letters open for the new generation if Kafka has deleted their records: Invariant 17. */
async function carryOver(deps: OperatorDeps, from: number, to: number): Promise<void> {
  for (const [key, { low }] of await logOffsets(deps)) {
    if (low === 0) continue;
    const { topic, partition } = parsePartitionKey(key);
    const gone = { topic, partition, offset: { $lt: low }, generations: from };
    await deadLettersOf(deps.control).updateMany(gone, { $addToSet: { generations: to } });
  }
}

/** Waits until every live replica serves the generation. Returns the replicas that do not when the time is up. */
const replicasElsewhere = ({ control, now }: OperatorDeps, number: number, timeoutSeconds: number) =>
  pollUntil(
    async () => (await liveReplicas(control, await now())).filter(({ generation }) => generation !== number),
    (elsewhere) => elsewhere.length === 0,
    { everyMs: 250, timeoutMs: timeoutSeconds * 1_000 },
  );
