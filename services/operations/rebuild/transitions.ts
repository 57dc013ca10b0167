import {
  type ComparisonReport,
  type Generation,
  generationOf,
  isBuild,
  projectionVersion,
  RebuildRefused,
  type Transition,
} from '../../../shared/control/generations.ts';
import {
  type Cause,
  isOlderAccepted,
  type RegistryUpdate,
  withGeneration,
  withState,
  withTransition,
} from '../../../shared/control/registry.ts';

/** A transition in words. Its state stays if only other fields of the generation have changed. */
export const changeText = ({ from, to }: Pick<Transition, 'from' | 'to'>): string =>
  from === to ? to : `${from ?? 'nothing'} → ${to}`;

/** Registers a new build. Its number is the next that was never used. */
export const register =
  ({ by, at, why }: Cause, options: Pick<Generation, 'loadTo'>): RegistryUpdate =>
  (registry) => {
    const build = registry.generations.find(isBuild);
    if (build)
      throw new RebuildRefused(
        `generation ${build.number} is being built already; continue it, or drop it`,
        `rebuild drop ${build.number}`,
      );
    const number = registry.lastNumber + 1;
    const newBuild: Generation = { number, projectionVersion, state: 'building', since: at, ...options };
    return withTransition(
      { ...registry, lastNumber: number, generations: [...registry.generations, newBuild] },
      { generation: number, from: null, to: 'building', at, by, why },
    );
  };

/**
 * Makes a build or a standby active, and the active generation a standby. An acceptance of older data applies only to
 * this switch.
 */
export const activate =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const target = generationOf(registry, number);
    if (target.state === 'active') return registry;
    if (target.state !== 'ready' && target.state !== 'standby')
      throw new RebuildRefused(
        `generation ${number} is ${target.state}, not ready`,
        `rebuild await ${number}`,
      );
    const formerActive = generationOf(registry, registry.generation);
    const nextActive = isOlderAccepted(target, registry.since, cause.at) ? target : withoutOlder(target);
    const withStandby = withState(registry, withoutOlder(formerActive), 'standby', cause);
    const switched = withState(withStandby, nextActive, 'active', cause);
    return { ...switched, generation: number, since: cause.at };
  };

function withoutOlder(generation: Generation): Generation {
  const { accepted, ...rest } = generation;
  if (!accepted) return generation;
  return { ...rest, accepted: accepted.filter(({ finding }) => finding !== 'older') };
}

/** Begins to drop a generation. Its projectors end, and no other projector can start on it: Invariant 16. */
export const beginDrop =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const target = generationOf(registry, number);
    if (target.state === 'active')
      throw new RebuildRefused(
        `generation ${number} is active: promote another one, or roll back, before you drop it`,
      );
    return withState(registry, target, 'dropping', cause);
  };

/** Records that everything of a generation is removed. */
export const endDrop =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const target = registry.generations.find((generation) => generation.number === number);
    if (target?.state !== 'dropping') return registry;
    // The registry keeps dropped generations forever, and every projector reads it once a second.
    const { loadTo: _loadTo, manifest: _manifest, accepted: _accepted, report: _report, ...short } = target;
    return withState(registry, short, 'dropped', cause);
  };

export const storeReport =
  (number: number, report: ComparisonReport, cause: Cause): RegistryUpdate =>
  (registry) => {
    const current = generationOf(registry, number);
    const { state } = current;
    const transition = { generation: number, from: state, to: state, ...cause };
    return withTransition(withGeneration(registry, { ...current, report }), transition);
  };

/** Adds an entry to the history of a generation whose state stays. */
export const addNote =
  (number: number, cause: Cause): RegistryUpdate =>
  (registry) => {
    const { state } = generationOf(registry, number);
    return withTransition(registry, { generation: number, from: state, to: state, ...cause });
  };
