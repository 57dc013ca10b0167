import { kinds } from '../../shared/documents/document.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { deadLettersOf } from '../../shared/control/dead-letters.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import type { Event } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { readLog, type Logged } from './read-log.ts';

/**
 * Compares MongoDB with the log, which is applied. Each document equals the fold; exactly the refused records are dead
 * letters; the log holds every acknowledged event.
 */
export async function expectConverged(
  environment: TestEnvironment,
  seed: number,
  acknowledged: Event[],
): Promise<void> {
  const log = await readLog(environment);
  const events = log.map(({ event }) => event).filter((event) => event !== null);
  const present = new Set(events.map(name));
  expect({ seed, missing: acknowledged.filter((event) => !present.has(name(event))) }).toEqual({
    seed,
    missing: [],
  });
  const documents = await readDocuments(environment.database);
  expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(events)) });
  expectDeadLetters(seed, log, await deadLetterIds(environment));
}

async function deadLetterIds({ control }: TestEnvironment): Promise<Set<string>> {
  const found = await deadLettersOf(control)
    .find({}, { projection: { _id: 1 } })
    .toArray();
  return new Set(found.map(({ _id }) => _id));
}

/** Each refused record is a dead letter, or a deletion in the log may have erased it. There are no other dead letters. */
function expectDeadLetters(seed: number, log: Logged[], stored: Set<string>): void {
  const bad = refused(log);
  const positions = new Set(bad.map(positionOf));
  const lost = bad.filter((item) => !stored.has(positionOf(item)) && !isErasable(log, item));
  const surplus = [...stored].filter((position) => !positions.has(position));
  expect({ seed, lost, surplus }).toEqual({ seed, lost: [], surplus: [] });
}

/**
 * Whether a deletion in the log may have erased the record's dead letter. The record names a conversation, whose
 * deletion is final whenever it comes, or a message of one; or it names another deleted entity.
 */
function isErasable(log: Logged[], item: Logged): boolean {
  const names = (id: string) => new RegExp(`\\b${id}\\b`).test(item.text);
  const deletions = log.filter(({ event }) => event?.op === 'deleted' || event?.op === 'tombstone');
  const dead = new Set(deletions.flatMap(({ event }) => (event?.kind === 'conversation' ? [event.id] : [])));
  const goesWith = ({ event }: Logged) =>
    dead.has(String(event?.data?.conversationId)) && names(event?.id ?? '');
  return [...dead].some(names) || log.some(goesWith) || isOutlived(log, deletions, item, names);
}

/**
 * Whether a deletion leaves the record without effect. A later deletion does if the record cannot be read, and a
 * later tombstone always does; any deletion does once the entity has reached the record's version.
 */
function isOutlived(
  log: Logged[],
  deletions: Logged[],
  { event: state, timestampMs }: Logged,
  names: (id: string) => boolean,
): boolean {
  const isAfter = (later: Logged) => later.timestampMs >= timestampMs;
  if (!state) return deletions.some((later) => isAfter(later) && names(later.event?.id ?? ''));
  const deletionsOf = deletions.filter(({ event }) => event?.id === state.id);
  const isPast = log.some(
    ({ event }) => event?.id === state.id && event.orgId !== state.orgId && event.version >= state.version,
  );
  return deletionsOf.some((one) => isPast || (one.event?.op === 'tombstone' && isAfter(one)));
}

/** A tombstone has no version of its own. */
const name = ({ id, op, version }: Event) => (op === 'tombstone' ? `${id} ${op}` : `${id} ${op} ${version}`);

const positionOf = ({ topic, partition, offset, timestampMs }: Logged) =>
  `${topic}/${partition}/${offset}@${timestampMs}`;

/** The poisoned records, and the records under another organization than the entity's first. */
function refused(log: Logged[]): Logged[] {
  const owners = new Map<string, string>();
  return log.filter(({ event }) => {
    if (event === null) return true;
    if (event.op === 'tombstone') return false;
    const owner = owners.get(event.id) ?? event.orgId;
    owners.set(event.id, owner);
    return owner !== event.orgId;
  });
}

/**
 * No offset is committed before the effect of its records. Before the group's offsets, the store has each version or a
 * later one, and each refused record is a dead letter. Call it while projectors run.
 */
export async function expectCommittedHasEffect(environment: TestEnvironment, seed: number): Promise<void> {
  const { admin, config, topics } = environment;
  const groups = await admin.fetchOffsets({ groupId: config.CONSUMER_GROUP, topics });
  const committed = new Map(
    groups.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)]),
    ),
  );
  const whole = await readLog(environment);
  const log = whole.filter(
    ({ topic, partition, offset }) => offset < (committed.get(`${topic}/${partition}`) ?? 0),
  );
  const versions = new Map<string, number>();
  for (const kind of kinds)
    for (const { _id, version } of await collectionOf(environment.database, kind).find().toArray())
      versions.set(_id, version);
  const stored = await deadLetterIds(environment);
  const bad = new Set(refused(log));
  const lost = log.filter((item) =>
    bad.has(item)
      ? !stored.has(positionOf(item)) && !isErasable(whole, item)
      : (versions.get(item.event?.id ?? '') ?? -1) < (item.event?.version ?? 0),
  );
  expect({ seed, lost }).toEqual({ seed, lost: [] });
}
