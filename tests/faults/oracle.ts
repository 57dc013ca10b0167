import { readSavedPositions } from '../../services/projector/progress/progress.ts';
import { kinds } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { standingLetters } from '../support/dead-letters.ts';
import type { Event } from '../support/events.ts';
import { logEnds } from '../support/progress.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { type Logged, readLog } from './read-log.ts';

/** How many records, dead letters and documents a comparison with the log has covered. */
export type Compared = { records: number; deadLetters: number; documents: number };

/**
 * Compares MongoDB with the log once projectors have applied the log. Expects that each document equals the fold, that
 * exactly the refused records are dead letters, that the log contains every acknowledged event, and that no position is
 * beyond its log.
 */
export async function expectConverged(
  environment: TestEnvironment,
  seed: number,
  acknowledged: Event[],
): Promise<Compared> {
  const log = await readLog(environment);
  const events = log.map(({ event }) => event).filter((event) => event !== null);
  const logged = new Set(events.map(nameOf));
  const missing = acknowledged.filter((event) => !logged.has(nameOf(event)));
  const refused = refusedRecords(log);
  const letterIds = await readDeadLetterIds(environment);
  const lost = lostDeadLetters(refused, log, letterIds);
  const refusedIds = new Set(refused.map(deadLetterId));
  const surplus = [...letterIds].filter((id) => !refusedIds.has(id));
  expect({ seed, missing, lost, surplus }).toEqual({ seed, missing: [], lost: [], surplus: [] });
  expect({ seed, beyond: await positionsBeyondLog(environment) }).toEqual({ seed, beyond: [] });
  const documents = await readDocuments(environment.database);
  expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(events)) });
  return { records: log.length, deadLetters: letterIds.size, documents: Object.keys(documents).length };
}

/** A partition there would skip its next record. The documents hide that if a later record replaces the skipped one. */
async function positionsBeyondLog({ control, admin, topics }: TestEnvironment): Promise<string[]> {
  const positions = await readSavedPositions(control, 1);
  const ends = await logEnds(admin, topics);
  return [...positions].filter(([key, position]) => position > (ends.get(key) ?? 0)).map(([key]) => key);
}

async function readDeadLetterIds({ control }: TestEnvironment): Promise<Set<string>> {
  const letters = await standingLetters(control);
  return new Set(letters.map(({ _id }) => _id));
}

/**
 * Returns the refused records without a dead letter. Leaves out records whose dead letter a deletion may have erased: a
 * deletion of the record's entity, or of the conversation of its message. A poisoned record names no entity.
 */
function lostDeadLetters(refused: Logged[], log: Logged[], letterIds: Set<string>): Logged[] {
  const deletedIds = new Set<unknown>();
  for (const { event } of log) {
    if (event?.op === 'deleted' || event?.op === 'tombstone') deletedIds.add(event.id);
  }
  for (const { event } of log) {
    if (deletedIds.has(event?.data?.conversationId)) deletedIds.add(event?.id);
  }
  return refused.filter(
    (record) => !letterIds.has(deadLetterId(record)) && !deletedIds.has(record.event?.id),
  );
}

/** Names an event. A tombstone has no version of its own, so its name has none. */
const nameOf = ({ id, op, version }: Event) =>
  op === 'tombstone' ? `${id} ${op}` : `${id} ${op} ${version}`;

const deadLetterId = ({ topic, partition, offset, timestampMs }: Logged) =>
  `${topic}/${partition}/${offset}@${timestampMs}`;

/** The poisoned records, and the records under a different organization than that of the entity's first record. */
function refusedRecords(log: Logged[]): Logged[] {
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
 * Expects that no offset is committed before the effect of its records: for each record below the committed offsets,
 * the store has its version or a later one, or a dead letter of a refused record. Call it while projectors run.
 */
export async function expectCommittedHasEffect(environment: TestEnvironment, seed: number): Promise<void> {
  const committed = await readCommitted(environment);
  const wholeLog = await readLog(environment);
  const committedLog = wholeLog.filter(({ topic, partition, offset }) => {
    const end = committed.get(`${topic}/${partition}`) ?? 0;
    return offset < end;
  });
  const versions = new Map<string, number>();
  for (const kind of kinds) {
    const documents = await collectionOf(environment.database, kind).find().toArray();
    for (const { _id, version } of documents) versions.set(_id, version);
  }
  const letterIds = await readDeadLetterIds(environment);
  const refused = new Set(refusedRecords(committedLog));
  /** Whether the store has no document of the record's entity, or an older version. */
  const isWithoutEffect = ({ event }: Logged) => {
    if (event === null) return true;
    const stored = versions.get(event.id);
    return stored === undefined || stored < event.version;
  };
  const lost = [
    ...lostDeadLetters([...refused], wholeLog, letterIds),
    ...committedLog.filter((record) => !refused.has(record) && isWithoutEffect(record)),
  ];
  expect({ seed, lost }).toEqual({ seed, lost: [] });
}

/** The committed offsets by `<topic>/<partition>`; negative for a partition without one. */
async function readCommitted({ admin, config, topics }: TestEnvironment): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  const groups = await admin.fetchOffsets({ groupId: config.CONSUMER_GROUP, topics });
  for (const { topic, partitions } of groups) {
    for (const { partition, offset } of partitions) committed.set(`${topic}/${partition}`, Number(offset));
  }
  return committed;
}
