import { createRandom } from '../../../tests/support/random.ts';
import { created } from '../../../tests/support/entities.ts';
import { changeOf, deletionOf, recordOf } from '../../../tests/support/engine.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import type { Change } from '../events/change.ts';
import { evolve, type Entity } from '../materialize/evolve.ts';
import type { StoredEnvelope } from '../materialize/store.ts';
import { deadLetterId, recordFields } from './dead-letter.ts';
import { erasuresAmong } from './erase.ts';

const rules = { deletionIsFinal: false, now: new Date(0), tombstoneDays: 30 };
const envelope = (fields: Partial<StoredEnvelope>): StoredEnvelope => ({
  _id: 'con_1',
  orgId: 'org_1',
  version: 2,
  revision: 1,
  position: null,
  ...fields,
});

test('the dead letters of every deleted entity of a large batch are erased, read by 1,000 ids at a time', async () => {
  const reads: number[] = [];
  const readEnvelopes = async (_: string, ids: string[]) => {
    reads.push(ids.length);
    return ids.map((_id) => envelope({ _id, deletedUpTo: { version: 2, timestampMs: 0 } }));
  };
  const changes = Array.from(
    { length: 1_001 },
    (_, index) => ({ op: 'delete', id: `con_${index}`, orgId: 'org_1', version: 2 }) as Change,
  );
  const erasures = await erasuresAmong({ readEnvelopes }, 'contact', { changes, rejected: [] });
  expect(new Set(erasures.map(({ id }) => id)).size).toBe(1_001);
  expect(reads).toEqual([1_000, 1]);
});

/** A record of one contact, in the order of their offsets. `bad` is rejected. */
type Logged = { op: 'upsert' | 'delete' | 'tombstone' | 'bad'; version: number; offset: number };

const eventOf = ({ version }: Logged) => created('contact', 'con_1', {}, version);

function changesOf(logged: Logged): Change[] {
  const { op, version, offset } = logged;
  if (op === 'bad') return [];
  if (op === 'upsert') return [changeOf(eventOf(logged), offset)];
  const event = deletionOf(eventOf(logged), version);
  return [changeOf(op === 'delete' ? event : { ...event, op: 'tombstone' }, offset)];
}

/** The offsets of the dead letters that are left after these batches. */
async function lettersAfter(batches: Logged[][]): Promise<number[]> {
  const topic = topicOf('contact', 'support.');
  let entity: Entity | null = null;
  let letters: number[] = [];
  for (const batch of batches) {
    const changes = batch.flatMap(changesOf);
    for (const change of changes) entity = evolve(entity, change, rules).entity;
    const bad = batch.filter(({ op }) => op === 'bad');
    letters.push(...bad.map(({ offset }) => offset));
    const readEnvelopes = async () => (entity ? [{ ...entity, _id: 'con_1', revision: 1 }] : []);
    const rejected = bad.map((logged) => ({
      record: recordOf(eventOf(logged), logged.offset),
      rejection: { reason: 'bad_data' as const, detail: '' },
    }));
    const erasures = await erasuresAmong({ readEnvelopes }, 'contact', { changes, rejected });
    const all = batches.flat();
    const isErased = (offset: number) => {
      const logged = all.find((one) => one.offset === offset);
      if (!logged) throw new Error(`no record has offset ${offset}`);
      const record = recordOf(eventOf(logged), offset);
      const deadLetter = {
        ...recordFields(topic, 'support.', record),
        _id: deadLetterId(topic, record.position),
      };
      return erasures.some(({ covers }) => covers(deadLetter));
    };
    letters = letters.filter((offset) => !isErased(offset));
  }
  return letters;
}

/** Every division of a log into batches. */
const divisions = <T>(log: T[]): T[][][] => {
  const [first, ...others] = log;
  if (first === undefined) return [[]];
  if (others.length === 0) return [[[first]]];
  return divisions(others).flatMap((batches) => [
    [[first], ...batches],
    [[first, ...(batches[0] ?? [])], ...batches.slice(1)],
  ]);
};

test('a log leaves the same dead letters, however its records are divided into batches', async () => {
  let erased = 0;
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const random = createRandom(seed);
    const log = Array.from({ length: 5 }, (_, offset): Logged => {
      const op = random.pick(['upsert', 'upsert', 'delete', 'tombstone', 'bad', 'bad'] as const);
      return { op, version: 1 + random.int(5), offset };
    });
    const left = await Promise.all(divisions(log).map(lettersAfter));
    expect({ seed, log, left: [...new Set(left.map(String))] }).toEqual({
      seed,
      log,
      left: [String(left[0])],
    });
    erased += log.filter(({ op }) => op === 'bad').length - (left[0]?.length ?? 0);
  }
  expect(erased).toBeGreaterThan(0);
});

test.each([
  ['a deletion, up to its version', { deletedUpTo: { version: 3, timestampMs: 0 } }, [2, 3]],
  [
    'a Kafka tombstone, before it',
    { tombstonePosition: { partition: 0, offset: 4, timestampMs: 4 } },
    [2, 3],
  ],
  [
    'no deletion of its conversation, because it may have left that before: it erases none',
    { deletedAt: new Date(0) },
    [],
  ],
])('the dead letters of an entity are erased by %s', async (_, fields, expected) => {
  const readEnvelopes = async () => [envelope({ version: 5, ...fields })];
  const changes = [changeOf(deletionOf(created('contact', 'con_1'), 3))];
  const erasures = await erasuresAmong({ readEnvelopes }, 'contact', { changes, rejected: [] });
  const covered = [2, 3, 4, 5].filter((version) => {
    const fieldsOfRecord = recordFields(
      'support.contacts',
      'support.',
      recordOf(created('contact', 'con_1', {}, version), version),
    );
    return erasures.some(({ covers }) => covers({ ...fieldsOfRecord, _id: '' }));
  });
  expect(covered).toEqual(expected);
});
