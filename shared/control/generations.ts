import type { Collection, Db, FindOptions } from 'mongodb';
import { storeTime } from '../store/clock.ts';
import { newRevision } from '../store/revision.ts';
import {
  createControlCollections,
  describeLost,
  findReadModel,
  type LostCollection,
  type Manifest,
} from './manifest.ts';

/**
 * The state of a generation. Projectors advance a build; operators make every other transition.
 *
 *     start → building → catching-up → ready ──promote──→ active ⇄ standby
 *                │             │          │                           │
 *                └─────────────┴──────────┴────────── drop ───────────┴→ dropping → dropped
 *
 * - `building`: loads the log up to its end at the start.
 * - `catching-up`: applies the records that have come since.
 * - `ready`: follows the log closely; may be compared and promoted.
 * - `active`: the API serves it. There is exactly one; a promotion makes the former one a standby.
 * - `standby`: projectors still follow it, so a rollback loses nothing.
 * - `dropping`: its projectors end, and its data is removed. `dropped`: nothing is left.
 */
export type GenerationState =
  'building' | 'catching-up' | 'ready' | 'active' | 'standby' | 'dropping' | 'dropped';

/** A build is a generation that has not been promoted. */
const buildStates: readonly GenerationState[] = ['building', 'catching-up', 'ready'];
export const isBuild = ({ state }: Pick<Generation, 'state'>) => buildStates.includes(state);

/** A copy of the read model, with its own database, consumer group and progress. */
export type Generation = {
  /** A number is never used twice. */
  number: number;
  /** `projectionVersion` of the code that fills it. */
  projectionVersion: number;
  state: GenerationState;
  /** When it entered this state. */
  since: Date;
  /** When its first projector was about to read the log. Absent before that. */
  startedAt?: Date;
  /** The offsets of the logs at the start. A build that has applied them up to each `end` is loaded. */
  loadTo?: LoadRange[];
  /** The collections of its database that must exist; absent before a projector has created them. */
  manifest?: Manifest;
  /** The findings about it that operators have accepted. */
  accepted?: Acceptance[];
  /** The longest lag since its start, in seconds; absent while no lag was longer than a minute. */
  longestBehindSeconds?: number;
  /** The result of the last `rebuild compare`. */
  report?: ComparisonReport;
};

/**
 * The findings that an operator may accept:
 *
 * - `gap`: the gaps in its logs, and partitions that no longer exist.
 * - `older`: its data is older than that of the active generation.
 * - `truncated`: a rebuild lacks records that this generation has.
 * - `lost`: collections were lost, or replaced by a restore.
 */
export const acceptableFindings = ['gap', 'older', 'truncated', 'lost'] as const;
export type AcceptableFinding = (typeof acceptableFindings)[number];

/** A finding that an operator has accepted. It applies to the losses of that time, not to later ones. */
export type Acceptance = {
  finding: AcceptableFinding;
  /** By MongoDB's clock. */
  at: Date;
  /** The operator. */
  by: string;
  why: string;
  /** The findings in words. */
  seen: string[];
  /** The beginnings of the logs whose first records are gone. */
  beginnings?: LogBeginning[];
};

/** The first offset of a log. */
export type LogBeginning = { topic: string; partition: number; low: number };

/** The part of a log that a build loads. */
export type LoadRange = {
  topic: string;
  partition: number;
  /** The first offset of the log. */
  low: number;
  /** The last stable offset. */
  end: number;
};

/** The result of a comparison with the active generation. */
export type ComparisonReport = {
  at: Date;
  /** The generation that was active. */
  against: number;
  versions: { generation: number; against: number };
  /** The first offset of each partition at that time. A partition is `<topic>/<partition>`. */
  lows: { partition: string; low: number }[];
  /** The number of compared documents. */
  compared: number;
  /** The number of documents with an unexpected difference. */
  differing: number;
  /** The number of unexpected differences. `expected` counts the differences that `--expect` named. */
  differences: number;
  expected: number;
  /** The differences that the operator named with `--expect`. */
  expectations: { kind: string; field: string }[];
  /** The operator. */
  by: string;
};

/** A change of a generation's state or settings. */
export type Transition = {
  generation: number;
  from: GenerationState | null;
  to: GenerationState;
  at: Date;
  /** The operator, or the projector. */
  by: string;
  why: string;
};

/**
 * All generations, in one document of the control database, so each change is one compare-and-set of `revision`.
 * `generation` is the active one, and `since` the time of its promotion.
 */
export type GenerationRegistry = {
  _id: 'active';
  /** The version of the stored form of the control database. */
  form: number;
  generation: number;
  since: Date;
  revision: number;
  /** The highest number that was ever used. */
  lastNumber: number;
  generations: Generation[];
  history: Transition[];
  /** The collections of the control database that must exist. */
  manifest?: Manifest;
};

/** The version of the stored form of the control database. Every process refuses another one. */
export const storedForm = 1;

/** Another release has stored the control database in a form that this release cannot read. */
export class OtherStoredForm extends Error {
  override name = 'OtherStoredForm';
}

/**
 * The version of the stored documents. Raise it if a stored field is removed or renamed or changes its type or meaning,
 * or if a projection changes its result. A new field needs no new version, because releases with and without it can
 * write the same generation. `golden.test.ts` beside the projections distinguishes the two.
 */
export const projectionVersion = 1;

/**
 * The projection versions that this API can serve. A release that raises `projectionVersion` also lists the previous
 * version, because an operator may still promote a generation of it or roll back to one.
 */
export const servedVersions: readonly number[] = [projectionVersion];

/** The generation was built by code whose documents this code cannot read or write. */
export class OtherProjectionVersion extends Error {
  override name = 'OtherProjectionVersion';
}

/**
 * An operation on generations is not possible now, for the reason in the message. `verb` is the verb of the CLI that
 * helps the operator.
 */
export class RebuildRefused extends Error {
  override name = 'RebuildRefused';
  readonly verb: string | null;
  /** The first line of the message. */
  readonly summary: string;
  /** Its further lines, one for each obstacle or choice. */
  readonly details: string[];
  constructor(summary: string, verb: string | null = null, details: string[] = []) {
    super([summary, ...details].join('\n'));
    this.verb = verb;
    this.summary = summary;
    this.details = details;
  }
}

/** The generation does not exist, or no longer exists. */
export class NoSuchGeneration extends RebuildRefused {
  override name = 'NoSuchGeneration';
}

/** The registry is missing, but parts of a read model exist, so a projector must not begin another read model. */
export class RegistryLost extends RebuildRefused {
  override name = 'RegistryLost';
  constructor(places: string[]) {
    super(lostRegistryText(places), 'status');
  }
}

/** Names the loss, and the places where a part of the read model is left. */
export const lostRegistryText = (places: string[]): string =>
  `the registry of generations is lost, but a read model is left: ${places.join(', ')}`;

/**
 * Collections that must exist are gone, or have been replaced. No process creates them again or uses the replacements,
 * because an empty collection would look like an empty read model.
 */
export class CollectionsLost extends RebuildRefused {
  override name = 'CollectionsLost';
  constructor(lost: LostCollection[]) {
    super(`collections are lost: ${describeLost(lost)}`, 'status');
  }
}

export const generationsOf = (control: Db): Collection<GenerationRegistry> =>
  control.collection('generations');

/** The options of a read of the registry. `projection` may leave out the history, which may be long. */
export type RegistryOptions = Omit<FindOptions, 'projection'> & { projection?: { history: 0 } };

/** The registry, or null before a projector has first started. Throws `OtherStoredForm` if another release made it. */
export async function readRegistry(
  control: Db,
  options: RegistryOptions = {},
): Promise<GenerationRegistry | null> {
  const registry = await generationsOf(control).findOne({ _id: 'active' }, options);
  if (registry && registry.form !== storedForm)
    throw new OtherStoredForm(
      `the control database has the stored form ${registry.form}, and this release reads the form ${storedForm}: run the ` +
        'release that stored it',
    );
  return registry;
}

/**
 * Replaces the registry if it is unchanged since it was read, and returns the stored registry. Returns null if another
 * client has changed it; the caller then reads it again. Throws if an edit has broken its revision, because the write
 * would then have no guard, or would never apply.
 */
export async function replaceRegistry(
  control: Db,
  read: GenerationRegistry,
  next: GenerationRegistry,
): Promise<GenerationRegistry | null> {
  if (!Number.isSafeInteger(read.revision))
    throw new Error(
      '`revision` of the document `active` in `generations` was edited: set it to a whole number',
    );
  const stored = { ...next, revision: newRevision() };
  const { matchedCount } = await generationsOf(control).replaceOne(
    { _id: 'active', revision: read.revision },
    stored,
  );
  return matchedCount === 1 ? stored : null;
}

/** The generation of this number. Throws `NoSuchGeneration` if it does not exist or is being dropped. */
export function generationOf({ generations }: GenerationRegistry, number: number): Generation {
  const found = generations.find((generation) => generation.number === number);
  if (!found) {
    const known = new Intl.ListFormat('en').format(generations.map((generation) => `${generation.number}`));
    const are = generations.length === 1 ? 'the only generation is' : 'the generations are';
    throw new NoSuchGeneration(`there is no generation ${number}; ${are} ${known}`);
  }
  if (found.state === 'dropped') throw new NoSuchGeneration(`generation ${number} was dropped`);
  if (found.state === 'dropping')
    throw new NoSuchGeneration(
      `generation ${number} is being dropped; an interrupted drop is finished by running it again`,
      `rebuild drop ${number}`,
    );
  return found;
}

/**
 * The active generation, or null before a projector has first started. Throws `OtherProjectionVersion` if the API
 * cannot serve its version.
 */
export async function activeGeneration(control: Db, options: FindOptions = {}) {
  const registry = await readRegistry(control, { ...options, projection: { history: 0 } });
  if (registry === null) return null;
  const active = generationOf(registry, registry.generation);
  requireVersion(active, servedVersions);
  const acceptOlder = (active.accepted ?? []).some(({ finding }) => finding === 'older');
  return {
    generation: registry.generation,
    acceptOlder,
    manifests: { control: registry.manifest ?? {}, documents: active.manifest ?? {} },
  };
}

/** Throws `OtherProjectionVersion` if the documents of a generation have another version than these. */
export function requireVersion(
  { number, projectionVersion: version }: Pick<Generation, 'number' | 'projectionVersion'>,
  versions: readonly number[] = [projectionVersion],
): void {
  if (versions.includes(version)) return;
  throw new OtherProjectionVersion(
    `generation ${number} holds documents of projection version ${version}, but this release reads and writes ` +
      `version ${versions.join(' and ')}`,
  );
}

/** Reads the registry. Without one, `leftovers` names the other parts of a read model. */
export async function readRegistryOrLeftovers(
  control: Db,
): Promise<{ registry: GenerationRegistry | null; leftovers: string[] }> {
  const registry = await readRegistry(control);
  if (registry) return { registry, leftovers: [] };
  const leftovers = await findReadModel(control);
  // A projector that starts now may have created the registry, and then its first progress.
  const createdByOther = leftovers.length > 0 ? await readRegistry(control) : null;
  return createdByOther ? { registry: createdByOther, leftovers: [] } : { registry: null, leftovers };
}

/**
 * Returns the registry; null if there is no read model yet. Throws `RegistryLost` if only other parts of one are left.
 */
export async function findRegistry(control: Db): Promise<GenerationRegistry | null> {
  const { registry, leftovers } = await readRegistryOrLeftovers(control);
  if (leftovers.length > 0) throw new RegistryLost(leftovers);
  return registry;
}

/** Returns the registry. Without a read model, registers generation 1 as active. */
export const ensureRegistry = async (control: Db): Promise<GenerationRegistry> =>
  (await findRegistry(control)) ?? registerFirst(control);

async function registerFirst(control: Db): Promise<GenerationRegistry> {
  const now = await storeTime(control);
  const cause = { at: now, by: 'projector', why: 'the first generation' };
  // The collections come before the registry, because the registry lists them.
  const manifest = await createControlCollections(control);
  const registry: Omit<GenerationRegistry, '_id'> = {
    form: storedForm,
    generation: 1,
    since: now,
    revision: newRevision(),
    lastNumber: 1,
    generations: [{ number: 1, projectionVersion, state: 'active', since: now }],
    history: [{ generation: 1, from: null, to: 'active', ...cause }],
    manifest,
  };
  await generationsOf(control).updateOne({ _id: 'active' }, { $setOnInsert: registry }, { upsert: true });
  const read = await readRegistry(control);
  if (!read) throw new Error('the registry of generations was removed while it was read');
  return read;
}

type GroupSettings = { CONSUMER_GROUP?: string | undefined; DATABASE_NAME: string };

/**
 * The consumer group of a generation. Deployments with different databases have different groups, unless their settings
 * name the same group.
 */
export function groupIdOf({ CONSUMER_GROUP, DATABASE_NAME }: GroupSettings, generation: number): string {
  const firstGroup = CONSUMER_GROUP ?? `${DATABASE_NAME}-read-models`;
  return generation === 1 ? firstGroup : `${firstGroup}_g${generation}`;
}
