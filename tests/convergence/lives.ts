import type { Kind } from '../../shared/documents/resources.ts';
import { created } from '../support/entities.ts';
import { type Event, idPrefixes } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/** The kinds whose entities may be created again after their deletion. Tickets show the contacts and the tags. */
export const revivedKinds: Kind[] = ['contact', 'tag', 'ticket'];

const entitiesOfKind = 10;
const entities = revivedKinds.flatMap((kind) =>
  Array.from({ length: entitiesOfKind }, (_, number) => ({ kind, id: `${idPrefixes[kind]}${number}` })),
);

/** The next record of an entity: a change, a deletion, the tombstone after a deletion, or a new life. */
function nextRecord(random: Random, kind: Kind, id: string, records: Event[]): Event {
  const last = records.at(-1);
  const version = Math.max(0, ...records.map((event) => event.version)) + 1;
  const name = `${id} ${version}`;
  const references = kind === 'ticket' ? randomReferences(random) : {};
  const state = created(kind, id, { name, title: name, ...references }, version);
  if (last?.op === 'deleted' && random.chance(0.7)) return { ...last, op: 'tombstone' };
  const isAlive = last && last.op !== 'deleted' && last.op !== 'tombstone';
  if (!isAlive || random.chance(0.5)) return state;
  // A source may stamp a deletion with the last version by mistake.
  return { kind, id, orgId: state.orgId, op: 'deleted', version: version - random.int(2), time: state.time };
}

const randomReferences = (random: Random) => ({
  requesterId: `con_${random.int(entitiesOfKind)}`,
  tagIds: [`tag_${random.int(entitiesOfKind)}`],
});

/** The log of random lives. One time in five, the source appends the records of `randomRun` again. */
export function randomLives(seed: number, length: number): Event[] {
  const random = createRandom(seed);
  const history: Event[] = [];
  while (history.length < length) {
    const { kind, id } = random.pick(entities);
    if (history.length > 0 && random.chance(0.2)) {
      history.push(...randomRun(random, history));
    } else {
      const records = history.filter((event) => event.id === id);
      history.push(nextRecord(random, kind, id, records));
    }
  }
  return history;
}

/** The last few records of the log, or of one key. The run contains the newest record of each of its keys. */
export function randomRun(random: Random, history: Event[]): Event[] {
  if (random.chance(1 / 3)) return history.slice(-(1 + random.int(20)));
  const { id } = random.pick(history);
  const records = history.filter((event) => event.id === id);
  return records.slice(-(1 + random.int(6)));
}
