import { createMaker } from '../../infra/sample-data/states.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { type Event, idPrefixes } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/**
 * Makes a random history of a few entities that refer to each other. The same seed makes the same history, which has:
 *
 * - children before their parents, moves to a different parent, and references across organizations
 * - renames after embedding, deletions (some at the version of the last update), tombstones and re-creations
 * - duplicates, stale versions, records under the wrong organization, and runs of records that are appended again
 */
export function randomHistory(seed: number, length: number, shape: Partial<Shape> = {}): Event[] {
  const { population = wide, organizations = 2, retentionDays = [0, 10_000] } = shape;
  const random = createRandom(seed);
  // The highest number belongs to no entity, so some references lead nowhere.
  const randomId = (kind: Kind) => idOf(seed, kind, random.int(population[kind] + 1));
  const make = createMaker({ random, orgId: '', now: new Date(base), refer: randomId });
  const history: Event[] = [];
  const versions = new Map<string, number>();
  const newRecord = ({ kind, id, orgId, time }: Subject): Event => {
    const lastVersion = versions.get(id) ?? 0;
    const version = lastVersion + 1 + random.int(3);
    versions.set(id, version);
    const percent = random.int(100);
    const isNew = lastVersion === 0;
    const event = { kind, id, orgId, version, time };
    if (!isNew && percent < 8)
      return { ...event, op: 'deleted', version: random.chance(0.4) ? lastVersion : version };
    if (!isNew && percent < 12) return { ...event, op: 'tombstone' };
    const { state } = make(kind, fieldsOf({ random, randomId, retentionDays }, kind, id, time));
    return { ...event, op: isNew ? 'created' : 'updated', data: state };
  };
  const nextRecords = (subject: Subject): Event[] => {
    if (random.chance(0.04)) return runAppendedAgain(random, history, subject.id);
    const earlierEvents = history.filter((event) => event.id === subject.id);
    if (earlierEvents.length > 0 && random.chance(0.15)) return [random.pick(earlierEvents)];
    return [newRecord(subject)];
  };
  for (let step = 0; step < length; step += 1) {
    // The last third mostly changes referenced entities: only the fan-out propagates these changes.
    const isLastThird = step >= (length * 2) / 3;
    const kind = random.pick(isLastThird && !random.chance(0.3) ? referenced : weighted);
    const number = random.int(population[kind]);
    // An entity belongs to one organization. One record in fifty names the next organization by mistake.
    const mistake = random.chance(0.02) ? 1 : 0;
    const orgId = `org_${seed}_${(number + mistake) % organizations}`;
    const time = new Date(base + step * 1_000 + random.int(5_000));
    history.push(...nextRecords({ kind, id: idOf(seed, kind, number), orgId, time }));
  }
  return history;
}

/** The entity of a record, the organization that the record names, and its time. */
type Subject = Pick<Event, 'kind' | 'id' | 'orgId' | 'time'>;

/** A run of records, up to the newest record of each of its keys: of all keys, or of the one with this id. */
function runAppendedAgain(random: Random, history: Event[], id: string): Event[] {
  const start = random.int(history.length + 1);
  const run = history.slice(Math.max(start, history.length - runMax));
  return random.chance(0.5) ? run.filter((event) => event.id === id) : run;
}

export type Population = Record<Kind, number>;

type Shape = {
  population: Population;
  organizations: number;
  /** The possible retention periods of a channel. 10,000 days do not pass while a test runs. */
  retentionDays: number[];
};

/** The maximum number of records that the source appends again at a time. */
const runMax = 12;

const base = Date.UTC(2026, 0, 1);

const populationOf = (usual: number, exceptions: Partial<Population>) =>
  Object.fromEntries(kinds.map((kind) => [kind, exceptions[kind] ?? usual])) as Population;

/** Few entities of each kind, so that many records concern the same entity. */
export const wide = populationOf(3, {
  apiKey: 2,
  contact: 5,
  tag: 4,
  topic: 4,
  channel: 4,
  ticket: 5,
  conversation: 8,
  message: 24,
});

export const doubled = Object.fromEntries(
  Object.entries(wide).map(([kind, count]) => [kind, 2 * count]),
) as Population;

/** So few entities that most records concern each other. */
export const narrow = populationOf(1, { contact: 2, channel: 2, ticket: 2, conversation: 3, message: 4 });

const weights: Partial<Record<Kind, number>> = {
  contact: 3,
  channel: 3,
  ticket: 4,
  conversation: 6,
  message: 12,
};
const weighted = kinds.flatMap((kind) => Array.from({ length: weights[kind] ?? 1 }, () => kind));

const referenced: Kind[] = ['contact', 'user', 'agent', 'tag', 'topic', 'channel'];

const idOf = (seed: number, kind: Kind, number: number) => `${idPrefixes[kind]}${seed}_${number}`;

type Choices = { random: Random; randomId: (kind: Kind) => string; retentionDays: number[] };

/**
 * The fields that the maker of states must not draw at random: a convergence fault shows only if names and instants
 * return, and if entities share references.
 */
function fieldsOf({ random, randomId, retentionDays }: Choices, kind: Kind, id: string, time: Date) {
  const randomIds = (referencedKind: Kind) =>
    Array.from({ length: random.int(4) }, () => randomId(referencedKind));
  const maybe = <T>(value: T): T | null => (random.chance(0.7) ? value : null);
  // An entity has one of three names at a time, so a former name returns after a different one.
  const name = `${kind} ${random.int(3)}`;
  const createdAt = new Date(base + random.int(50) * 1_000).toISOString();
  const times = { createdAt, updatedAt: time.toISOString() };
  if (kind === 'channel')
    return {
      id,
      name,
      ...times,
      type: 'form',
      dataRetentionDays: maybe(random.pick(retentionDays)),
      archivedAt: random.chance(0.2) ? '2026-02-01T00:00:00+01:00' : null,
    };
  const mayLackName = kind === 'contact' || kind === 'user';
  const absentContent = kind === 'message' ? null : name;
  return {
    id,
    name: mayLackName ? maybe(name) : name,
    ...times,
    title: name,
    question: name,
    tokenSha256: random.int(1_000_000).toString(16).padStart(64, 'A'),
    tagIds: randomIds('tag'),
    topicIds: randomIds('topic'),
    author: random.pick([
      { type: 'contact', id: randomId('contact') },
      { type: 'user', id: randomId('user') },
      { type: 'ai_agent', id: randomId('agent') },
      null,
    ]),
    content: maybe(`${name} 👩‍👩‍👧 `.repeat(random.int(30))) ?? absentContent,
  };
}
