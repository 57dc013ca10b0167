import type { Db } from 'mongodb';
import type { Collections } from '../store/structures.ts';
import {
  type Acceptance,
  findRegistry,
  type Generation,
  generationOf,
  type GenerationRegistry,
  type GenerationState,
  RebuildRefused,
  replaceRegistry,
} from './generations.ts';
import { type Manifest, manifestOf } from './manifest.ts';
import { partitionKey, type TopicPartition } from './topic-partition.ts';

/** The registry. Throws `RebuildRefused` before a projector has first started, and `RegistryLost` if it was lost. */
export async function requireRegistry(control: Db): Promise<GenerationRegistry> {
  const registry = await findRegistry(control);
  if (registry) return registry;
  throw new RebuildRefused(
    'there is no read model yet, because no projector has started on this database: check DATABASE_NAME',
  );
}

/**
 * Applies an update to the registry by one compare-and-set, and returns the result. If another client has changed the
 * registry first, applies the update to the changed registry. Invariant 15 in docs/internals/generations.md.
 */
export async function changeRegistry(control: Db, update: RegistryUpdate): Promise<GenerationRegistry> {
  for (;;) {
    const read = await requireRegistry(control);
    const next = update(read);
    if (next === read) return read;
    const stored = await replaceRegistry(control, read, next);
    if (stored) return stored;
  }
}

/**
 * Adds the collections that a projector has created to the manifest of its generation. A collection that is listed
 * keeps its id. Throws `NoSuchGeneration` if the generation was dropped while the projector started.
 */
export const addToManifest =
  (number: number, manifest: Manifest): RegistryUpdate =>
  (registry) => {
    const current = generationOf(registry, number);
    const listed = current.manifest ?? {};
    if (Object.keys(manifest).every((name) => name in listed)) return registry;
    return withGeneration(registry, { ...current, manifest: { ...manifest, ...listed } });
  };

/**
 * Replaces the listed ids by those of the collections that an operator has accepted. The entry of any other collection
 * stays, so a loss of it is found.
 */
export const replaceListed =
  (number: number, control: Collections, documents: Collections): RegistryUpdate =>
  (registry) => {
    const current = generationOf(registry, number);
    return withGeneration(
      { ...registry, manifest: withIdsOf(control, registry.manifest) },
      { ...current, manifest: withIdsOf(documents, current.manifest) },
    );
  };

const withIdsOf = (accepted: Collections, listed: Manifest = {}): Manifest => ({
  ...listed,
  ...manifestOf(accepted, Object.keys(listed)),
});

/** The operator who makes a transition, the time and the reason. */
export type Cause = { by: string; at: Date; why: string };

/** Returns the registry after a transition, or throws `RebuildRefused`. Pure. */
export type RegistryUpdate = (registry: GenerationRegistry) => GenerationRegistry;

/** The registry keeps this many transitions, the latest ones. A rebuild makes a few. */
const historyMax = 1_000;

/** Advances a build. Has no effect if the build has advanced already, or was dropped. */
export const advance =
  (number: number, from: GenerationState, to: GenerationState, cause: Cause): RegistryUpdate =>
  (registry) => {
    const current = registry.generations.find((generation) => generation.number === number);
    return current?.state === from ? withState(registry, current, to, cause) : registry;
  };

/** Stores the start of a generation. Has no effect on a generation that has already started. */
export const storeStart =
  (number: number, at: Date): RegistryUpdate =>
  (registry) => {
    const current = registry.generations.find((generation) => generation.number === number);
    return current && !current.startedAt ? withGeneration(registry, { ...current, startedAt: at }) : registry;
  };

/** Stores the longest lag of a generation. Ignores a shorter lag than the stored one. */
export const storeLongestLag =
  (number: number, seconds: number): RegistryUpdate =>
  (registry) => {
    const current = registry.generations.find((generation) => generation.number === number);
    if (!current || seconds <= (current.longestBehindSeconds ?? 0)) return registry;
    return withGeneration(registry, { ...current, longestBehindSeconds: seconds });
  };

/** The generations with data: neither dropped nor being dropped. */
export const livingGenerations = ({ generations }: GenerationRegistry): Generation[] =>
  generations.filter(({ state }) => state !== 'dropping' && state !== 'dropped');

/** The registry with `next` in place of the generation of the same number. */
export const withGeneration = (registry: GenerationRegistry, next: Generation): GenerationRegistry => ({
  ...registry,
  generations: registry.generations.map((generation) =>
    generation.number === next.number ? next : generation,
  ),
});

/** The registry with a generation in the state `to`, and that transition in the history. */
export function withState(
  registry: GenerationRegistry,
  generation: Generation,
  to: GenerationState,
  cause: Cause,
): GenerationRegistry {
  const { number, state: from } = generation;
  const changed = withGeneration(registry, { ...generation, state: to, since: cause.at });
  return withTransition(changed, { generation: number, from, to, ...cause });
}

/** The registry with one more transition in its history. */
export const withTransition = (
  registry: GenerationRegistry,
  transition: GenerationRegistry['history'][number],
): GenerationRegistry => ({ ...registry, history: [...registry.history, transition].slice(-historyMax) });

/** Stores an acceptance with a generation, and in the history. */
export const addAcceptance =
  (number: number, acceptance: Acceptance): RegistryUpdate =>
  (registry) => {
    const current = generationOf(registry, number);
    const { finding, at, by, why, seen } = acceptance;
    const next = { ...current, accepted: [...(current.accepted ?? []), acceptance] };
    return withTransition(withGeneration(registry, next), {
      generation: number,
      from: current.state,
      to: current.state,
      at,
      by,
      why: `${why}; accepted ${finding}: ${seen.join('; ')}`,
    });
  };

/** An acceptance of older data ends after this time, in milliseconds, because the data becomes older with time. */
const olderAcceptedForMs = 600_000;

/** Whether an operator has just accepted that a generation which is not served has older data than the active one. */
export const isOlderAccepted = (
  { accepted = [], since }: Pick<Generation, 'accepted' | 'since'>,
  activeSince: Date,
  now: Date,
): boolean =>
  accepted.some(
    ({ finding, at }) =>
      finding === 'older' &&
      at >= since &&
      at >= activeSince &&
      now.getTime() - at.getTime() <= olderAcceptedForMs,
  );

type Beginnings = Pick<Generation, 'loadTo' | 'accepted'>;

/**
 * The offset at which the log of a partition begins for a generation: 0, the beginning that a build has found, or the
 * beginning that an operator has accepted later. If records after this offset are gone unread, there is a gap.
 */
export function beginningOf({ loadTo = [], accepted = [] }: Beginnings, key: string): number {
  const isPartition = (place: TopicPartition) => partitionKey(place) === key;
  const allAccepted = accepted.flatMap(({ beginnings }) => beginnings ?? []);
  const lastAccepted = allAccepted.findLast(isPartition);
  const found = lastAccepted ?? loadTo.find(isPartition);
  return found?.low ?? 0;
}

/** A log that has lost its beginning: it began at `beginning`, and begins at `low` now. */
type TruncatedLog = { key: string; low: number; beginning: number };

/**
 * The logs that now begin after `beginningOf`, so a rebuild would lack the records in between. The keys of `ends` are
 * `<topic>/<partition>`.
 */
export function logsWithoutBeginning(
  generation: Beginnings,
  ends: ReadonlyMap<string, { low: number }>,
): TruncatedLog[] {
  const truncated: TruncatedLog[] = [];
  for (const [key, { low }] of ends) {
    const beginning = beginningOf(generation, key);
    if (low > beginning) truncated.push({ key, low, beginning });
  }
  return truncated;
}

/**
 * The offset at which the load of each partition ends; null once the build is loaded. The keys are
 * `<topic>/<partition>`.
 */
export const loadEnds = ({ state, loadTo = [] }: Generation): Map<string, number> | null =>
  state === 'building' ? new Map(loadTo.map((partition) => [partitionKey(partition), partition.end])) : null;
