import type { Position } from '../../../shared/documents/entity.ts';
import type { Change, Upsert } from '../events/change.ts';
import { createRandom } from '../../../tests/support/random.ts';
import { evolve, type Entity } from './evolve.ts';

const now = new Date('2026-01-10T00:00:00Z');
const rules = { deletionIsFinal: false, now, tombstoneDays: 30 };
const at = (offset: number, partition = 0, timestampMs = offset * 1_000): Position => ({
  partition,
  offset,
  timestampMs,
});
const time = new Date(0);
const upsert = (version: number, position: Position, orgId = 'org_1'): Upsert<'tag'> => ({
  op: 'upsert',
  id: 'x',
  orgId,
  version,
  state: { id: 'x', name: `v${version}` },
  time,
  position,
});
const deletion = (version: number, position: Position): Change => ({
  op: 'delete',
  id: 'x',
  orgId: 'org_1',
  version,
  time,
  position,
});
const tombstone = (position: Position): Change => ({ op: 'tombstone', id: 'x', time, position });

const fold = (changes: Change[], given = rules) =>
  changes.reduce<Entity | null>((entity, change) => evolve(entity, change, given).entity, null);
const nameOf = (entity: Entity | null) => entity?.state?.name ?? null;

/** Every order of a few items. */
const orders = <T>(items: T[]): T[][] =>
  items.length < 2
    ? [items]
    : items.flatMap((item, index) =>
        orders(items.toSpliced(index, 1)).map((remaining) => [item, ...remaining]),
      );

describe('evolve', () => {
  test('a deleted entity keeps no state, and its tombstone expires', () => {
    const entity = fold([upsert(1, at(1)), deletion(2, at(2))]);
    expect(entity).toEqual({
      orgId: 'org_1',
      version: 2,
      position: at(2),
      deletedAt: now,
      expiresAt: new Date('2026-02-09T00:00:00Z'),
    });
    // A later version of the deletion keeps both times.
    const later = { ...rules, now: new Date('2026-01-20T00:00:00Z') };
    expect(evolve(entity, deletion(3, at(3)), later).entity).toEqual({
      ...entity,
      version: 3,
      position: at(3),
    });
  });

  describe('a channel with a retention', () => {
    const retained = (version: number, days: number | null): Change => {
      const change = upsert(version, at(version));
      return { ...change, state: { ...change.state, dataRetentionDays: days } };
    };
    const deleted = { orgId: 'org_1', deletedAt: now };

    test('leaves it, and no expiry, after every sort of deletion', () => {
      const tombstones = [
        [deletion(2, at(2))],
        [deletion(1, at(2))],
        [tombstone(at(2))],
        [deletion(2, at(2)), deletion(3, at(3)), tombstone(at(4))],
      ];
      for (const changes of tombstones) {
        const entity = fold([retained(1, 30), ...changes]);
        expect(entity).toMatchObject({ ...deleted, dataRetentionDays: 30 });
        expect(entity).not.toHaveProperty('expiresAt');
        expect(entity).not.toHaveProperty('state');
      }
    });

    test('leaves that of its last state', () => {
      const expiresAt = new Date('2026-02-09T00:00:00Z');
      const readBefore = tombstone(at(9));
      const known = fold([retained(1, 30), readBefore]);
      expect(fold([retained(1, 30), readBefore, retained(2, 0)])).toEqual({
        ...deleted,
        version: 2,
        position: at(2),
        tombstonePosition: at(9),
        expiresAt,
      });
      const again = fold([retained(1, null), readBefore, retained(2, 30)]);
      expect(again).toEqual({ ...known, version: 2, position: at(2) });
      expect(fold([retained(1, 30), deletion(2, at(2)), retained(3, 7)])).not.toHaveProperty(
        'dataRetentionDays',
      );
    });
  });

  describe('an entity whose state was purged by retention', () => {
    const purged: Entity = {
      orgId: 'org_1',
      version: 3,
      position: at(3),
      expiresAt: new Date('2026-02-01T00:00:00Z'),
    };
    const final = { ...rules, deletionIsFinal: true };

    test.each([
      ['the same version', upsert(3, at(3)), { version: 3, position: at(3) }],
      ['the same version again, later in the log', upsert(3, at(9)), { version: 3, position: at(9) }],
      ['a later version', upsert(4, at(9)), { version: 4, position: at(9) }],
    ])('%s restores it, and it no longer expires', (_, change, expected) => {
      for (const given of [rules, final]) {
        const { entity, changed } = evolve(purged, change, given);
        expect(changed).toBe(true);
        expect(entity).toEqual({ orgId: 'org_1', ...expected, state: change.state });
      }
    });

    test('an older version does not restore it, and a later deletion deletes it', () => {
      expect(evolve(purged, upsert(2, at(2)), final)).toEqual({ entity: purged, changed: false });
      expect(evolve(purged, deletion(4, at(9)), final).entity).toEqual({
        orgId: 'org_1',
        version: 4,
        position: at(9),
        deletedAt: now,
      });
    });

    test('a tombstone after its record deletes it, a tombstone before it does not', () => {
      expect(evolve(purged, tombstone(at(9)), rules).entity).toMatchObject({
        tombstonePosition: at(9),
        deletedAt: now,
      });
      expect(evolve(purged, tombstone(at(2)), rules).entity).toEqual({ ...purged, tombstonePosition: at(2) });
    });
  });

  describe('an entity whose deletion is final', () => {
    const final = { ...rules, deletionIsFinal: true };

    test('no version restores it, and the deletion keeps its time', () => {
      const deleted = fold([upsert(1, at(1)), deletion(2, at(2))], final);
      const late = { ...final, now: new Date('2026-05-01T00:00:00Z') };
      for (const change of [upsert(2, at(3)), upsert(3, at(3)), deletion(4, at(4)), tombstone(at(5))]) {
        const { entity } = evolve(deleted, change, late);
        expect(entity).toMatchObject({ deletedAt: now });
        expect(entity).not.toHaveProperty('state');
        expect(entity).not.toHaveProperty('expiresAt');
      }
    });
  });
});

/** Changes of one entity in two partitions, with repeated versions, and several records in one millisecond. */
function randomChanges(seed: number): Change[] {
  const random = createRandom(seed);
  const nextOffset = [0, 0];
  let timestampMs = 0;
  return Array.from({ length: 2 + random.int(3) }, () => {
    const partition = random.int(2);
    const offset = (nextOffset[partition] ?? 0) + 1;
    nextOffset[partition] = offset;
    timestampMs += random.int(2);
    const position = at(offset, partition, timestampMs);
    const version = 1 + random.int(3);
    return random.pick([upsert(version, position), deletion(version, position), tombstone(position)]);
  });
}

test.each([
  ['final', { ...rules, deletionIsFinal: true }],
  ['not final', rules],
])('every order of random changes has one outcome, if a deletion is %s', (_, given) => {
  for (let seed = 1; seed <= 3_000; seed += 1) {
    const changes = randomChanges(seed);
    const outcomes = orders(changes).map((order) => {
      const entity = fold(order, given);
      return JSON.stringify([entity?.version, nameOf(entity), entity?.deletedAt !== undefined]);
    });
    expect({ seed, outcomes: [...new Set(outcomes)] }).toEqual({ seed, outcomes: [outcomes[0]] });
  }
});
