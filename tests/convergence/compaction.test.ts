import type { Kind } from '../../shared/documents/resources.ts';
import { readLog } from '../faults/read-log.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { createRandom, type Random } from '../support/random.ts';
import { applied, createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { fold } from './fold.ts';
import { readDocuments } from './read-documents.ts';

/** Kinds whose entities may be created again after their deletion. Tickets show contacts and tags. */
const lives: [Kind, string[]][] = [
  ['contact', Array.from({ length: 10 }, (_, number) => `con_${number}`)],
  ['tag', Array.from({ length: 10 }, (_, number) => `tag_${number}`)],
  ['ticket', Array.from({ length: 10 }, (_, number) => `ti_${number}`)],
];
const ids = lives.flatMap(([kind, ofKind]) => ofKind.map((id) => ({ kind, id })));
/** Kafka never compacts the segment to which it appends: one more record begins another. */
const last = lives.map(([kind, [id = '']]) => created(kind, id.replace(/0$/, 'last')));

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

/** The log of random lives. Now and then a run is appended again, up to the newest record of each of its keys. */
function randomLives(seed: number, length: number): Event[] {
  const random = createRandom(seed);
  const history: Event[] = [];
  while (history.length < length) {
    const { kind, id } = random.pick(ids);
    const ofKey = history.filter((event) => event.id === id);
    if (random.chance(0.1)) history.push(...history.slice(-random.int(20)));
    else if (random.chance(0.2)) history.push(...ofKey.slice(-1 - random.int(6)));
    else history.push(nextOf(random, kind, id, ofKey));
  }
  return history;
}

describe('a log with runs that were appended again', () => {
  const streamed = useProjector();
  const rebuilt = useOpened(() => createTestEnvironment(1));

  test('gives the same read model before and after Kafka has compacted it', async () => {
    // given a projector that applies the whole log
    const history = randomLives(1, 600);
    await streamed.publish(...history);
    await streamed.applied();
    const { database, admin, config, topics } = streamed.environment;
    const expected = Object.fromEntries(fold([...history, ...last]));
    // when Kafka has removed all records but the last of each key
    for (const [kind] of lives)
      await streamed.alterTopic(kind, {
        'cleanup.policy': 'compact',
        'delete.retention.ms': '864000000',
        'min.cleanable.dirty.ratio': '0',
        'segment.ms': '1',
      });
    await streamed.publish(...last);
    await streamed.applied();
    const keys = new Set([...history, ...last].map(({ id }) => id));
    await eventually(async () => {
      const found = await readLog(streamed.environment);
      return found.length === keys.size || found.map(({ event }) => event?.id);
    });
    // then a read model that is built from that log is the same
    const prefix = { TOPIC_PREFIX: config.TOPIC_PREFIX };
    const projector = await runProjector({ config: { ...rebuilt.config, ...prefix }, topics });
    await applied({ ...rebuilt, admin, topics }, () => projector.fatal);
    await projector.stop();
    expect(await readDocuments(database)).toEqual(expected);
    expect(await readDocuments(rebuilt.database)).toEqual(expected);
    expect(Object.keys(expected).length).toBeGreaterThan(last.length);
  });
});
