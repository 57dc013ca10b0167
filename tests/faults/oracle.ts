import { kinds } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { standingLetters } from '../support/dead-letters.ts';
import type { Event } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { type Logged, readLog } from './read-log.ts';

/** The numbers of a comparison with the log. */
export type Compared = { records: number; deadLetters: number; documents: number };

/**
 * Compares MongoDB with the log, which the projectors have applied. Each document equals the fold; exactly the refused
 * records are dead letters; the log holds every acknowledged event.
 */
export async function expectConverged(
  environment: TestEnvironment,
  seed: number,
  acknowledged: Event[],
): Promise<Compared> {
  const log = await readLog(environment);
  const events = log.map(({ event }) => event).filter((event) => event !== null);
  const present = new Set(events.map(name));
  const missing = acknowledged.filter((event) => !present.has(name(event)));
  // Each refused record is a dead letter, and each dead letter is a refused record.
  const bad = refused(log);
  const stored = await deadLetterIds(environment);
  const lost = lostDeadLetters(bad, log, stored);
  const positions = new Set(bad.map(positionOf));
  const surplus = [...stored].filter((position) => !positions.has(position));
  expect({ seed, missing, lost, surplus }).toEqual({ seed, missing: [], lost: [], surplus: [] });
  const documents = await readDocuments(environment.database);
  expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(events)) });
  return { records: log.length, deadLetters: stored.size, documents: Object.keys(documents).length };
}

async function deadLetterIds({ control }: TestEnvironment): Promise<Set<string>> {
  return new Set((await standingLetters(control)).map(({ _id }) => _id));
}

/**
 * Returns each refused record that has no dead letter, unless a deletion in the log may have erased it: a deletion of
 * the record's entity, or of the conversation of its message. A poisoned record names no entity.
 */
function lostDeadLetters(bad: Logged[], log: Logged[], stored: Set<string>): Logged[] {
  const deleted = new Set<unknown>();
  for (const { event } of log)
    if (event?.op === 'deleted' || event?.op === 'tombstone') deleted.add(event.id);
  for (const { event } of log) if (deleted.has(event?.data?.conversationId)) deleted.add(event?.id);
  return bad.filter((item) => !stored.has(positionOf(item)) && !deleted.has(item.event?.id));
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
  const isStale = ({ event }: Logged) => (versions.get(event?.id ?? '') ?? -1) < (event?.version ?? 0);
  const lost = [
    ...lostDeadLetters([...bad], whole, stored),
    ...log.filter((item) => !bad.has(item) && isStale(item)),
  ];
  expect({ seed, lost }).toEqual({ seed, lost: [] });
}
