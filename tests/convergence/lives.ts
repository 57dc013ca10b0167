import type { Kind } from '../../shared/documents/resources.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/** Kinds whose entities may be created again after their deletion. Tickets show contacts and tags. */
export const lives: [Kind, string[]][] = [
  ['contact', Array.from({ length: 10 }, (_, number) => `con_${number}`)],
  ['tag', Array.from({ length: 10 }, (_, number) => `tag_${number}`)],
  ['ticket', Array.from({ length: 10 }, (_, number) => `ti_${number}`)],
];
const ids = lives.flatMap(([kind, ofKind]) => ofKind.map((id) => ({ kind, id })));

/** The next record of an entity: a change, a deletion, its tombstone, or a new life. */
function nextOf(random: Random, kind: Kind, id: string, records: Event[]): Event {
  const before = records.at(-1);
  const version = Math.max(0, ...records.map((event) => event.version)) + 1;
  const alive = created(kind, id, { name: `${id} ${version}`, title: `${id} ${version}` }, version);
  const state: Event =
    kind === 'ticket'
      ? {
          ...alive,
          data: { ...alive.data, requesterId: `con_${random.int(10)}`, tagIds: [`tag_${random.int(10)}`] },
        }
      : alive;
  if (before?.op === 'deleted' && random.chance(0.7)) return { ...before, op: 'tombstone' };
  if (!before || before.op === 'deleted' || before.op === 'tombstone' || random.chance(0.5)) return state;
  // Sources stamp a deletion with the last version by mistake.
  return { kind, id, orgId: state.orgId, op: 'deleted', version: version - random.int(2), time: state.time };
}

/**
 * The log of random lives. Now and then the source appends a run again, up to the newest record of each of its keys.
 */
export function randomLives(seed: number, length: number): Event[] {
  const random = createRandom(seed);
  const history: Event[] = [];
  while (history.length < length) {
    const { kind, id } = random.pick(ids);
    const ofKey = history.filter((event) => event.id === id);
    if (history.length > 0 && random.chance(0.2)) history.push(...randomRun(random, history));
    else history.push(nextOf(random, kind, id, ofKey));
  }
  return history;
}

/** Some of the last records of the log, or of one of its keys: up to the newest record of each of their keys. */
export function randomRun(random: Random, history: Event[]): Event[] {
  if (random.chance(1 / 3)) return history.slice(-1 - random.int(20));
  const { id } = random.pick(history);
  return history.filter((event) => event.id === id).slice(-1 - random.int(6));
}
