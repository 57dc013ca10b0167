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

/** The registry; throws before a projector has first started. */
export async function requireRegistry(control: Db): Promise<GenerationRegistry> {
  const registry = await readRegistry(control);
  if (registry) return registry;
  throw new RebuildRefused(
    'there is no read model yet, because no projector has started on this database: check DATABASE_NAME',
  );
}

/**
 * Applies a change to the registry as one compare-and-set, and returns the result. If somebody else has changed it
 * meanwhile, the change is decided again on what that has left.
 */
export async function changeRegistry(control: Db, change: Change): Promise<GenerationRegistry> {
  for (;;) {
    const read = await requireRegistry(control);
    const next = change(read);
    if (next === read) return read;
    if (await replaceRegistry(control, read, next)) return { ...next, revision: read.revision + 1 };
  }
}

/** Who makes a transition, when and why. */
export type Cause = { by: string; at: Date; why: string };

/** The registry after a transition; throws `RebuildRefused` where it is not possible. Pure. */
export type Change = (registry: GenerationRegistry) => GenerationRegistry;

/** A build that has not been promoted. */
const buildStates: readonly GenerationState[] = ['building', 'catching-up', 'ready'];

export const isBuild = ({ state }: Pick<Generation, 'state'>) => buildStates.includes(state);
/** Projectors follow it, or may. */
export const isLiving = ({ state }: Pick<Generation, 'state'>) => state !== 'dropping' && state !== 'dropped';

/** Transitions kept, the latest; a deployment makes a few for each rebuild. */
const historyMax = 1_000;

/** Registers a new build. Its number is the next that was never used. */
export const register =
  ({ by, at, why }: Cause, options: Pick<Generation, 'loadTo' | 'acceptTruncated' | 'pace'>): Change =>
  (registry) => {
    const open = registry.generations.find(isBuild);
    if (open)
      throw new RebuildRefused(
        `generation ${open.number} is being built already: continue with it, or drop it with: rebuild drop ${open.number}`,
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

/** A build advances: loaded, then caught up. Without effect where it has advanced already, or was dropped. */
export const advance =
  (number: number, from: 'building' | 'catching-up', to: 'catching-up' | 'ready', cause: Cause): Change =>
  (registry) => {
    const current = registry.generations.find((one) => one.number === number);
    return current?.state === from ? moved(registry, current, to, cause) : registry;
  };

/** Makes a build or a standby active, and the active generation a standby. */
export const activate =
  (number: number, cause: Cause, { acceptOlder }: { acceptOlder: boolean }): Change =>
  (registry) => {
    const target = generationOf(registry, number);
    if (target.state === 'active') return registry;
    if (target.state !== 'ready' && target.state !== 'standby')
      throw new RebuildRefused(
        `generation ${number} is ${target.state}, not ready: wait with: rebuild await ${number}`,
      );
    const before = generationOf(registry, registry.generation);
    // The pace of a build does not hold for the active generation.
    const { pace: _pace, ...unlimited } = target;
    const stepped = moved(moved(registry, before, 'standby', cause), unlimited, 'active', cause);
    return { ...stepped, generation: number, since: cause.at, acceptOlder };
  };

/** Begins to drop a generation: its projectors end, and none starts on it any more. */
export const beginDrop =
  (number: number, cause: Cause): Change =>
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

/** Records that everything of a generation is gone. */
export const endDrop =
  (number: number, cause: Cause): Change =>
  (registry) => {
    const target = registry.generations.find((one) => one.number === number);
    if (target?.state !== 'dropping') return registry;
    // The registry is read every second, and keeps dropped generations for good.
    const { loadTo: _loadTo, report: _report, ...short } = target;
    return moved(registry, short, 'dropped', cause);
  };

/** What an operator or a comparison sets on a generation without a change of its state. */
export type Settings = {
  [Name in 'pace' | 'report']?: Generation[Name] | undefined;
};

/** Sets, or with `undefined` removes, settings of a generation. */
export const configure =
  (number: number, settings: Settings, cause: Cause): Change =>
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

/** Records the longest lag of a generation; a smaller value than the recorded one has no effect. */
export const recordMaxLag =
  (number: number, seconds: number): Change =>
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

/** An operation on generations is not possible now. The message says why, and what to do. */
export class RebuildRefused extends Error {
  override name = 'RebuildRefused';
}

/** The offset up to which a build loads each partition first, by `<topic>/<partition>`; null once it is loaded. */
export const loadEndsOf = ({ state, loadTo = [] }: Generation): Map<string, number> | null =>
  state === 'building' ? new Map(loadTo.map((one) => [partitionKey(one), one.end])) : null;
