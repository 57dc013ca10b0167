import type { Generation, GenerationRegistry } from '../../../shared/control/generations.ts';
import { projectionVersion, RebuildRefused } from '../../../shared/control/generations.ts';
import type { Cause } from '../../../shared/control/registry.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { release } from '../../../shared/runtime/release.ts';

/** The remains of a generation after the registry was lost. */
export type RemainingGeneration = {
  number: number;
  hasDocuments: boolean;
  /** The partitions with progress. */
  partitions: number;
  /** Its watermark or, if that is lost too, the minimum instant of its progress. Null if neither is left. */
  completeTo: Date | null;
  /** When a projector last saved its progress; null if no progress is left. */
  savedAt: Date | null;
  /** The releases of the projectors that saved its progress last. */
  releases: string[];
};

export type RestoreChoices = {
  /** The generation that was active. */
  active: number | undefined;
  /** The projection versions that the operator knows, by generation. */
  versions: ReadonlyMap<number, number>;
};

/**
 * The registry that fits the remains. The active generation is the operator's choice. Any other one that is whole
 * becomes `ready`: its longest lag and its checks are lost with the registry, so it is compared before a promotion. The
 * rest becomes `dropping`. `used` are further numbers that were used. Throws `RebuildRefused` if a choice is missing or
 * wrong. Pure.
 */
export function restoredRegistry(
  remaining: RemainingGeneration[],
  used: number[],
  { active, versions }: RestoreChoices,
  { by, at, why }: Cause,
): GenerationRegistry {
  const chosen = remaining.find(({ number }) => number === active);
  if (active === undefined || !chosen)
    throw refusal('name the generation that was active, with --active', remaining);
  if (!isWhole(chosen)) throw refusal(`generation ${active} cannot be active: ${lacking(chosen)}`, remaining);
  const generations = remaining.map((one) => restored(one, active, versions, at));
  const history = generations.map(({ number, state }) => ({
    ...{ generation: number, from: null, to: state, at, by },
    why: `the registry was lost: ${why}`,
  }));
  return {
    _id: 'active',
    generation: active,
    since: at,
    // Above every revision of the lost registry: a process that still holds that one cannot replace this one.
    revision: at.getTime(),
    lastNumber: Math.max(...used, ...remaining.map(({ number }) => number)),
    generations,
    history,
    hasBlocksMarker: true,
  };
}

/** One line for each generation. */
export const describeRemaining = (remaining: RemainingGeneration[]): string[] =>
  remaining.map((one) => `  generation ${one.number}: ${isWhole(one) ? whole(one) : lacking(one)}`);

function restored(
  one: RemainingGeneration,
  active: number,
  versions: RestoreChoices['versions'],
  at: Date,
): Generation {
  const { number, completeTo } = one;
  if (!isWhole(one)) return { number, projectionVersion, state: 'dropping', since: at, registeredAt: at };
  // Its lag counts from its watermark on: a projector may have missed tombstones since.
  const startedAt = completeTo ?? at;
  const state = number === active ? 'active' : 'ready';
  const begun = { registeredAt: startedAt, startedAt };
  return { number, projectionVersion: versionOf(one, versions), state, since: at, ...begun };
}

/** This release knows the version of its own documents alone. */
function versionOf({ number, releases }: RemainingGeneration, versions: RestoreChoices['versions']): number {
  const given = versions.get(number);
  if (given !== undefined) return given;
  if (releases.length > 0 && releases.every((one) => one === release)) return projectionVersion;
  throw new RebuildRefused(
    `generation ${number} was filled by release ${releases.join(' and ') || 'unknown'}, and this is ${release}: give the ` +
      `projection version of its documents, such as --projection-version ${number}:${projectionVersion}`,
  );
}

/** Whether it can be served, and followed from its progress on. */
const isWhole = ({ hasDocuments, partitions, completeTo }: RemainingGeneration): boolean =>
  hasDocuments && partitions > 0 && (completeTo?.getTime() ?? 0) > 0;

const whole = ({ partitions, completeTo, savedAt, releases }: RemainingGeneration): string =>
  `documents and ${counted(partitions, 'partition')}, complete up to ${text(completeTo)}, saved at ${text(savedAt)} by ` +
  `release ${releases.join(' and ') || 'unknown'}`;

const text = (instant: Date | null): string => instant?.toISOString() ?? 'an unknown time';

/** Why a generation is not whole. */
function lacking({ hasDocuments, partitions }: RemainingGeneration): string {
  if (!hasDocuments) return 'its documents are gone';
  return partitions === 0 ? 'its progress is gone' : 'it was never complete';
}

const refusal = (problem: string, remaining: RemainingGeneration[]) =>
  new RebuildRefused(`${problem}. Remains:`, null, describeRemaining(remaining));
