import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationRegistry } from '../../../shared/store/generations.ts';
import { liveReplicas, type Replica } from '../../../shared/store/replicas.ts';
import { deadLettersOf } from '../../projector/dead-letters/collection.ts';
import { parsePartitionKey } from '../../projector/kafka/topic-partition.ts';
import { checkSwitch, type Check, type SwitchOptions } from './checks.ts';
import { logOffsets, type OperatorDeps } from './measure.ts';
import { changeRegistry, requireRegistry, activate } from '../../projector/generations/registry.ts';

export type Switched = {
  number: number;
  outcome: 'promoted' | 'was-active' | 'refused' | 'dry-run';
  checks: Check[];
  /** Live replicas that still serve another generation, after the time was up. */
  waiting: Replica[];
};

/** Crash points for tests: each step of a switch or a drop is announced before it is taken. */
export type OnStep = (step: string) => Promise<void> | void;

/**
 * Makes a generation the one that is served. The checks and the switch belong together: if anything in the registry
 * changes between them, they are made again. Then it waits until every live replica serves the generation. Every step
 * may be repeated, so an interrupted switch is finished by running it again.
 */
export async function switchTo(
  deps: OperatorDeps,
  number: number,
  options: SwitchOptions & { why: string; dryRun: boolean; timeoutSeconds: number },
  onStep: OnStep = () => undefined,
): Promise<Switched> {
  for (;;) {
    const registry = await requireRegistry(deps.control);
    if (registry.generation === number && !options.dryRun) {
      if (options.acceptOlder) await acceptOlder(deps);
      await onStep('wait for replicas');
      const waiting = await replicasElsewhere(deps, number, options);
      return { number, outcome: 'was-active', checks: [], waiting };
    }
    const checks = await checkSwitch(deps, registry, number, options);
    if (options.dryRun) return { number, outcome: 'dry-run', checks, waiting: [] };
    if (checks.some(({ isMet }) => !isMet)) return { number, outcome: 'refused', checks, waiting: [] };
    await onStep('carry over');
    await carryOver(deps, registry.generation, number);
    await onStep('switch');
    if (!(await switchIfUnchanged(deps, registry, number, { ...options, why: whyOf(checks, options) })))
      continue;
    deps.report(`generation ${number} is active; waiting for the API replicas`);
    await onStep('wait for replicas');
    return { number, outcome: 'promoted', checks, waiting: await replicasElsewhere(deps, number, options) };
  }
}

/** The operator's reason, with the conditions that were accepted, for the history. */
const whyOf = (checks: Check[], { why }: { why: string }): string =>
  [
    why,
    ...checks.flatMap(({ isAccepted, name, detail }) => (isAccepted ? [`accepted ${name}: ${detail}`] : [])),
  ].join('; ');

/** Lets the replicas switch that wait for the active generation to catch up. */
const acceptOlder = ({ control }: OperatorDeps) =>
  changeRegistry(control, (read) => (read.acceptOlder ? read : { ...read, acceptOlder: true }));

/** Returns false where the registry is not the one that was checked. */
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

/**
 * A dead letter whose record is no longer in the log cannot reach the new generation by replay: it stays open for it.
 * Those that are in the log were rejected by the new generation too, or applied by it.
 */
async function carryOver(deps: OperatorDeps, from: number, to: number): Promise<void> {
  for (const [key, { low }] of await logOffsets(deps)) {
    if (low === 0) continue;
    const { topic, partition } = parsePartitionKey(key);
    const gone = { topic, partition, offset: { $lt: low }, generations: from };
    await deadLettersOf(deps.control).updateMany(gone, { $addToSet: { generations: to } });
  }
}

async function replicasElsewhere(
  { control, now }: OperatorDeps,
  number: number,
  { timeoutSeconds }: { timeoutSeconds: number },
): Promise<Replica[]> {
  const deadline = performance.now() + timeoutSeconds * 1_000;
  for (;;) {
    const replicas = await liveReplicas(control, await now());
    const elsewhere = replicas.filter(({ generation }) => generation !== number);
    if (elsewhere.length === 0 || performance.now() > deadline) return elsewhere;
    await sleep(250);
  }
}
