import type { Db } from 'mongodb';
import {
  readRegistry,
  replaceRegistry,
  type GenerationRegistry,
  generationOf,
  projectionVersion,
  type Generation,
  type GenerationState,
} from '../../../shared/store/generations.ts';
import { partitionKey } from '../kafka/topic-partition.ts';

/** The registry. Throws `RebuildRefused` before a projector has first started. */
export async function requireRegistry(control: Db): Promise<GenerationRegistry> {
  const registry = await readRegistry(control);
  if (registry) return registry;
  throw new RebuildRefused(
    'there is no read model yet, because no projector has started on this database: check DATABASE_NAME',
  );
}

/**
 * Applies an update to the registry by one compare-and-set, and returns the result. If the registry was changed meanwhile,
 * applies the update to the changed one. Invariant 15 in docs/internals/consistency.md.
 */
export async function changeRegistry(control: Db, update: RegistryUpdate): Promise<GenerationRegistry> {
  for (;;) {
    const read = await requireRegistry(control);
    const next = update(read);
    if (next === read) return read;
    if (await replaceRegistry(control, read, next)) return { ...next, revision: read.revision + 1 };
  }
}

/** Who makes a transition, when and why. */
export type Cause = { by: string; at: Date; why: string };

/** Returns the registry after a transition, or throws `RebuildRefused`. Pure. */
export type RegistryUpdate = (registry: GenerationRegistry) => GenerationRegistry;

/** A build is a generation that has not been promoted. */
const buildStates: readonly GenerationState[] = ['building', 'catching-up', 'ready'];

export const isBuild = ({ state }: Pick<Generation, 'state'>) => buildStates.includes(state);
/** Projectors may follow it. */
export const isLiving = ({ state }: Pick<Generation, 'state'>) => state !== 'dropping' && state !== 'dropped';

/** The latest transitions are kept; a rebuild makes a few. */
const historyMax = 1_000;

/** Registers a new build. Its number is the next that was never used. */
export const register =
  (
    { by, at, why }: Cause,
    options: Pick<Generation, 'loadTo' | 'acceptTruncated' | 'pace'>,
  ): RegistryUpdate =>
  (registry) => {
    const open = registry.generations.find(isBuild);
    if (open)
      throw new RebuildRefused(
        `generation ${open.number} is being built already: continue it, or drop it with: rebuild drop ${open.number}`,
      );
    const number = registry.lastNumber + 1;
    const built: Generation = {
      ...{ number, projectionVersion, state: 'building', since: at, registeredAt: at },
      ...options,
    };
    return {
      ...registry,
      lastNumber: number,
      generations: [...registry.generations, built],
      history: appended(registry, { generation: number, from: null, to: 'building', at, by, why }),
    };
  };

/** Advances a build. Has no effect if the build has advanced already, or was dropped. */
export const advance =
  (
    number: number,
    from: 'building' | 'catching-up',
    to: 'catching-up' | 'ready',
    cause: Cause,
  ): RegistryUpdate =>
  (registry) => {
    const current = registry.generations.find((one) => one.number === number);
    return current?.state === from ? moved(registry, current, to, cause) : registry;
  };

/** Makes a build or a standby active, and the active generation a standby. */
export const activate =
  (number: number, cause: Cause, { acceptOlder }: { acceptOlder: boolean }): RegistryUpdate =>
  (registry) => {
    const target = generationOf(registry, number);
    if (target.state === 'active') return registry;
    if (target.state !== 'ready' && target.state !== 'standby')
      throw new RebuildRefused(
        `generation ${number} is ${target.state}, not ready: wait with: rebuild await ${number}`,
      );
    const before = generationOf(registry, registry.generation);
    // The active generation has no pace, unless the operator sets one.
    const { pace: _pace, ...unlimited } = target;
    const stepped = moved(moved(registry, before, 'standby', cause), unlimited, 'active', cause);
    return { ...stepped, generation: number, since: cause.at, acceptOlder };
  };

/** Begins to drop a generation. Its projectors end, and none starts on it any more: Invariant 16. */
export const beginDrop =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const target = registry.generations.find((one) => one.number === number);
    if (target?.state === 'dropping' || target?.state === 'dropped') return registry;
    const living = generationOf(registry, number);
    if (living.state === 'active')
      throw new RebuildRefused(
        `generation ${number} is active: promote another one, or roll back, before you drop it`,
      );
    return moved(registry, living, 'dropping', cause);
  };

/** Records that everything of a generation is removed. */
export const endDrop =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const target = registry.generations.find((one) => one.number === number);
    if (target?.state !== 'dropping') return registry;
    // The registry keeps dropped generations for good, and every projector reads it once a second.
    const { loadTo: _loadTo, report: _report, ...short } = target;
    return moved(registry, short, 'dropped', cause);
  };

/** Settings of a generation that do not change its state. */
export type Settings = {
  [Name in 'pace' | 'report']?: Generation[Name] | undefined;
};

/** Sets, or with `undefined` removes, settings of a generation. */
export const configure =
  (number: number, settings: Settings, cause: Cause): RegistryUpdate =>
  (registry) => {
    const current = generationOf(registry, number);
    const next = Object.fromEntries(
      Object.entries({ ...current, ...settings }).filter(([, value]) => value !== undefined),
    ) as Generation;
    const { state } = current;
    return {
      ...replaced(registry, next),
      history: appended(registry, { generation: number, from: state, to: state, ...cause }),
    };
  };

/** Stores the longest lag of a generation. Ignores smaller values. */
export const recordMaxLag =
  (number: number, seconds: number): RegistryUpdate =>
  (registry) => {
    const current = registry.generations.find((one) => one.number === number);
    if (!current || seconds <= (current.longestBehindSeconds ?? 0)) return registry;
    return replaced(registry, { ...current, longestBehindSeconds: seconds });
  };

const replaced = (registry: GenerationRegistry, next: Generation): GenerationRegistry => ({
  ...registry,
  generations: registry.generations.map((one) => (one.number === next.number ? next : one)),
});

const moved = (
  registry: GenerationRegistry,
  generation: Generation,
  to: GenerationState,
  cause: Cause,
): GenerationRegistry => ({
  ...replaced(registry, { ...generation, state: to, since: cause.at }),
  history: appended(registry, { generation: generation.number, from: generation.state, to, ...cause }),
});

const appended = (
  { history }: GenerationRegistry,
  transition: GenerationRegistry['history'][number],
): GenerationRegistry['history'] => [...history, transition].slice(-historyMax);

/** An operation on generations is not possible now. The message gives the reason and a remedy. */
export class RebuildRefused extends Error {
  override name = 'RebuildRefused';
}

/** The offset at which the load of each partition ends, by `<topic>/<partition>`; null once the build is loaded. */
export const loadEnds = ({ state, loadTo = [] }: Generation): Map<string, number> | null =>
  state === 'building' ? new Map(loadTo.map((one) => [partitionKey(one), one.end])) : null;
