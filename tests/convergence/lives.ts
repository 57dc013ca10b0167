import type { Kind } from '../../shared/documents/resources.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/** Entities that may be created again after their deletion, by kind. Tickets show the contacts and the tags. */
export const lives: [Kind, string[]][] = [
  ['contact', Array.from({ length: 10 }, (_, number) => `con_${number}`)],
  ['tag', Array.from({ length: 10 }, (_, number) => `tag_${number}`)],
  ['ticket', Array.from({ length: 10 }, (_, number) => `ti_${number}`)],
];
const entities = lives.flatMap(([kind, ids]) => ids.map((id) => ({ kind, id })));

/** The next record of an entity: a change, a deletion, the tombstone after a deletion, or a new life. */
function nextRecord(random: Random, kind: Kind, id: string, records: Event[]): Event {
  const last = records.at(-1);
  const version = Math.max(0, ...records.map((event) => event.version)) + 1;
  const alive = created(kind, id, { name: `${id} ${version}`, title: `${id} ${version}` }, version);
  const state: Event =
    kind === 'ticket'
      ? {
          ...alive,
          data: { ...alive.data, requesterId: `con_${random.int(10)}`, tagIds: [`tag_${random.int(10)}`] },
        }
      : alive;
  if (last?.op === 'deleted' && random.chance(0.7)) return { ...last, op: 'tombstone' };
  const isAlive = last && last.op !== 'deleted' && last.op !== 'tombstone';
  if (!isAlive || random.chance(0.5)) return state;
  // A source may stamp a deletion with the last version by mistake.
  return { kind, id, orgId: state.orgId, op: 'deleted', version: version - random.int(2), time: state.time };
}

/** The log of random lives. One time in five, the source appends the records of `randomRun` again. */
export function randomLives(seed: number, length: number): Event[] {
  const random = createRandom(seed);
  const history: Event[] = [];
  while (history.length < length) {
    const { kind, id } = random.pick(entities);
    const records = history.filter((event) => event.id === id);
    if (history.length > 0 && random.chance(0.2)) history.push(...randomRun(random, history));
    else history.push(nextRecord(random, kind, id, records));
  }
  return history;
}

/** The last few records of the log, or of one key. The run contains the newest record of each of its keys. */
export function randomRun(random: Random, history: Event[]): Event[] {
  if (random.chance(1 / 3)) return history.slice(-1 - random.int(20));
  const { id } = random.pick(history);
  return history.filter((event) => event.id === id).slice(-1 - random.int(6));
}
