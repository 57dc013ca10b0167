import { kinds } from '../../shared/documents/document.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import type { Event } from '../support/events.ts';
import { applied, type TestEnvironment } from '../support/test-environment.ts';
import type { Publisher } from './publisher.ts';
import { readLog, type Logged } from './read-log.ts';

/**
 * Waits until the log is applied, then holds the store to it: each document is what the fold says, what could
 * not be applied is a dead letter, nothing else is, and everything acknowledged was in the log.
 */
export async function expectConverged(
  testEnvironment: TestEnvironment,
  seed: number,
  { acknowledged }: Publisher,
  fatal: () => Error[],
): Promise<void> {
  await applied(testEnvironment, fatal);
  const log = await readLog(testEnvironment);
  const events = log.map(({ event }) => event).filter((event) => event !== null);
  const present = new Set(events.map(name));
  expect({ seed, missing: acknowledged.filter((event) => !present.has(name(event))) }).toEqual({
    seed,
    missing: [],
  });
  const documents = await readDocuments(testEnvironment.database);
  expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(events)) });
  const deadLetters = await deadLettersOf(testEnvironment.control)
    .find({}, { projection: { _id: 1 } })
    .toArray();
  expectKept(seed, log, new Set(deadLetters.map(({ _id }) => _id)));
}

/** Each refused record is a dead letter, or about an entity that the log deletes later; nothing else is one. */
function expectKept(seed: number, log: Logged[], kept: Set<string>): void {
  const bad = refused(log);
  const places = new Set(bad.map(placeOf));
  const lost = bad.filter((item) => !kept.has(placeOf(item)) && !isErasable(log, item));
  const surplus = [...kept].filter((place) => !places.has(place));
  expect({ seed, lost, surplus }).toEqual({ seed, lost: [], surplus: [] });
}

/**
 * Whether the letter of such a record may have gone with what it is about: a conversation, whose deletion is
 * final whenever it comes, or a message of one; else an entity that the log deletes.
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
 * Whether a deletion leaves the record without effect: one behind it where the record cannot be read or the
 * deletion names no version; else any, once the entity has come to that version.
 */
function isOutlived(
  log: Logged[],
  deletions: Logged[],
  { event: state, timestampMs }: Logged,
  names: (id: string) => boolean,
): boolean {
  const isBehind = (later: Logged) => later.timestampMs >= timestampMs;
  if (!state) return deletions.some((later) => isBehind(later) && names(later.event?.id ?? ''));
  const deletionsOf = deletions.filter(({ event }) => event?.id === state.id);
  const isPast = log.some(
    ({ event }) => event?.id === state.id && event.orgId !== state.orgId && event.version >= state.version,
  );
  return deletionsOf.some((one) => isPast || (one.event?.op === 'tombstone' && isBehind(one)));
}

/** A tombstone has no version of its own. */
const name = ({ id, op, version }: Event) => (op === 'tombstone' ? `${id} ${op}` : `${id} ${op} ${version}`);

const placeOf = ({ topic, partition, offset }: Logged) => `${topic}/${partition}/${offset}`;

/** The poisoned records, and those under another organization than the entity's first. */
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
 * Nothing is acknowledged ahead of its effect: below the group's offsets, each version is stored (or a later
 * one), and each record that is refused is a dead letter. To be called while everything is in motion.
 */
export async function expectCommittedHasEffect(
  testEnvironment: TestEnvironment,
  seed: number,
): Promise<void> {
  const { admin, config, topics } = testEnvironment;
  const groups = await admin.fetchOffsets({ groupId: config.CONSUMER_GROUP, topics });
  const committed = new Map(
    groups.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)]),
    ),
  );
  const whole = await readLog(testEnvironment);
  const log = whole.filter(
    ({ topic, partition, offset }) => offset < (committed.get(`${topic}/${partition}`) ?? 0),
  );
  const versions = new Map<string, number>();
  for (const kind of kinds)
    for (const { _id, version } of await collectionOf(testEnvironment.database, kind).find().toArray())
      versions.set(_id, version);
  const deadLetters = await deadLettersOf(testEnvironment.control)
    .find({}, { projection: { _id: 1 } })
    .toArray();
  const kept = new Set(deadLetters.map(({ _id }) => _id));
  const bad = new Set(refused(log));
  const lost = log.filter((item) =>
    bad.has(item)
      ? !kept.has(placeOf(item)) && !isErasable(whole, item)
      : (versions.get(item.event?.id ?? '') ?? -1) < (item.event?.version ?? 0),
  );
  expect({ seed, lost }).toEqual({ seed, lost: [] });
}
