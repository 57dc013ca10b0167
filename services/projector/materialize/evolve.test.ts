import { isDeepStrictEqual } from 'node:util';
import type { Position } from '../../../shared/documents/entity.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import { createRandom, type Random } from '../../../tests/support/random.ts';
import type { Change, Tombstone } from '../events/change.ts';
import { type Entity, evolve, isRepetition } from './evolve.ts';

const tombstoneDays = 30;
/** Each step is taken on a day of its own. */
const day = (step: number) => new Date(step * dayMs);
/** The retention of a channel at each of its versions, in days. */
const retention = [null, 30, 0, 7];
const orgId = 'org_1';

type Event = Exclude<Change, Tombstone>;
const isEvent = (change: Change): change is Event => change.op !== 'tombstone';

function randomChange(random: Random, position: Position): Change {
  const version = 1 + random.int(3);
  const common = { id: 'x', position, time: day(0) };
  const state = { id: 'x', name: `v${version}`, dataRetentionDays: retention[version] };
  return random.pick<Change>([
    { ...common, op: 'upsert', orgId, version, state },
    { ...common, op: 'delete', orgId, version },
    { ...common, op: 'tombstone' },
  ]);
}

/**
 * Changes of one entity in two partitions, with repeated records and versions, and several records in one millisecond.
 */
function randomChanges(random: Random, count: number): Change[] {
  const nextOffset = [1, 1];
  let timestampMs = 0;
  const changes: Change[] = [];
  while (changes.length < count) {
    const partition = random.int(2);
    const offset = nextOffset[partition] ?? 0;
    nextOffset[partition] = offset + 1;
    timestampMs += random.int(2);
    changes.push(randomChange(random, { partition, offset, timestampMs }));
    if (random.chance(0.2)) changes.push(random.pick(changes));
  }
  return changes.slice(0, count);
}

/** Every order of a few items. */
function orders<T>(items: T[]): T[][] {
  if (items.length < 2) return [items];
  const found: T[][] = [];
  for (const [index, first] of items.entries()) {
    for (const remaining of orders(items.toSpliced(index, 1))) found.push([first, ...remaining]);
  }
  return found;
}

/** Negative if `a` comes first: by offset within one partition, else by time, and in one millisecond by partition. */
function byPlace(a: Position, b: Position): number {
  if (a.partition === b.partition) return a.offset - b.offset;
  if (a.timestampMs !== b.timestampMs) return a.timestampMs - b.timestampMs;
  return a.partition - b.partition;
}

/** The latest place of these changes; undefined without a change. */
function lastOf(changes: Change[]): Position | undefined {
  const positions = changes.map(({ position }) => position);
  return positions.sort(byPlace).at(-1);
}

/** The outcome that the event contract states for these records in any order. */
function outcome(records: Change[], deletionIsFinal: boolean) {
  const events = records.filter(isEvent);
  const version = Math.max(0, ...events.map((event) => event.version));
  const newest = events.filter((event) => event.version === version);
  const position = lastOf(newest);
  const tombstonePosition = lastOf(records.filter(({ op }) => op === 'tombstone'));
  const deletedByEvent = newest.some(({ op }) => op === 'delete') || undefined;
  const endsWithTombstone =
    tombstonePosition !== undefined && (!position || byPlace(tombstonePosition, position) > 0);
  const hasFinalDeletion = deletionIsFinal && records.some(({ op }) => op !== 'upsert');
  const isDeleted = deletedByEvent || endsWithTombstone || hasFinalDeletion;
  // A tombstone document has the retention of the last state that was the newest when it was read.
  const newestWhenRead = events.filter((event, index) =>
    events.slice(0, index).every(({ version: earlier }) => earlier < event.version),
  );
  const lastUpsert = newestWhenRead.findLast(({ op }) => op === 'upsert');
  const days = (lastUpsert && retention[lastUpsert.version]) || undefined;
  return { version, position, tombstonePosition, deletedByEvent, isDeleted, days };
}

/** The entity after these records, read in this order. */
function expected(order: Change[], deletionIsFinal: boolean): object {
  const outcomes = order.map((_, index) => outcome(order.slice(0, index + 1), deletionIsFinal));
  const { isDeleted, days, position, ...known } = outcome(order, deletionIsFinal);
  const entity = { orgId: order.some(isEvent) ? orgId : null, ...known, position: position ?? null };
  const state = { id: 'x', name: `v${known.version}`, dataRetentionDays: retention[known.version] };
  if (!isDeleted) return { ...entity, state };
  const deletedAt = day(outcomes.findLastIndex((step) => !step.isDeleted) + 1);
  if (deletionIsFinal || days) return { ...entity, deletedAt, dataRetentionDays: days };
  const lastChange = outcomes.findLastIndex((step, index) => !isDeepStrictEqual(step, outcomes[index - 1]));
  return { ...entity, deletedAt, expiresAt: day(lastChange + tombstoneDays) };
}

/** The entity after changes, one a day. Throws if `changed` is wrong after one of them. */
function evolveAll(order: Change[], deletionIsFinal: boolean): Entity | null {
  let entity: Entity | null = null;
  for (const [step, change] of order.entries()) {
    const evolved = evolve(entity, change, { deletionIsFinal, now: day(step), tombstoneDays });
    if (evolved.changed === isDeepStrictEqual(evolved.entity, entity))
      throw new Error(`changed is ${evolved.changed} at step ${step} of ${JSON.stringify(order)}`);
    entity = evolved.entity;
  }
  return entity;
}

test.each([true, false])(
  'records have the outcome of the contract in every order (final deletions: %s)',
  (deletionIsFinal) => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = createRandom(seed);
      for (const order of orders(randomChanges(random, 1 + random.int(4)))) {
        const entity = evolveAll(order, deletionIsFinal);
        expect({ seed, order, entity }).toEqual({ seed, order, entity: expected(order, deletionIsFinal) });
      }
    }
  },
);

test.each([true, false])(
  'a purged state comes back with its version or a later one (final deletions: %s)',
  (deletionIsFinal) => {
    const rules = { deletionIsFinal, now: day(1), tombstoneDays };
    const positionAt = (partition: number, offset: number) => ({ partition, offset, timestampMs: offset });
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = createRandom(seed);
      const known = {
        orgId,
        version: 2,
        position: positionAt(0, 5),
        tombstonePosition: positionAt(0, random.int(5)),
      };
      const change = randomChange(random, positionAt(random.int(2), random.int(10)));
      const otherEntity = evolve({ ...known, state: { id: 'x' } }, change, rules).entity as Entity;
      const { op } = change;
      const purged = { ...known, expiresAt: day(40) };
      const { entity, changed } = evolve(purged, change, rules);
      expect({ seed, changed }).toEqual({ seed, changed: !isDeepStrictEqual(entity, purged) });
      if (otherEntity.deletedAt) expect({ seed, entity }).toEqual({ seed, entity: otherEntity });
      else if (op === 'upsert' && change.version >= known.version)
        expect({ seed, entity }).toEqual({ seed, entity: { ...otherEntity, state: change.state } });
      else
        expect({ seed, entity }).toEqual({
          seed,
          entity: { ...otherEntity, state: undefined, expiresAt: day(40) },
        });
    }
  },
);

describe('a record that repeats an earlier one', () => {
  const rules = { deletionIsFinal: false, now: day(1), tombstoneDays };
  const common = { id: 'x', time: day(0) };
  type Step = { op: 'upsert' | 'delete'; version: number } | { op: 'tombstone' };
  const created = (version: number): Step => ({ op: 'upsert', version });
  const deleted = (version: number): Step => ({ op: 'delete', version });
  const tombstone: Step = { op: 'tombstone' };
  const changeOf = (step: Step, offset: number): Change => {
    const position = { partition: 0, offset, timestampMs: offset };
    if (step.op === 'tombstone') return { ...common, op: 'tombstone', position };
    const { op, version } = step;
    const fields = { ...common, orgId, version, position };
    return op === 'upsert' ? { ...fields, op, state: { id: 'x', name: `v${version}` } } : { ...fields, op };
  };
  /** Whether each record is a repetition, in the order of the log. */
  const repetitions = (log: Step[]) => {
    let entity: Entity | null = null;
    return log.map((step, offset) => {
      const change = changeOf(step, offset);
      const before: Entity | null = entity;
      ({ entity } = evolve(before, change, rules));
      return isRepetition(before, change);
    });
  };

  test.each<{ name: string; log: Step[]; are: boolean[] }>([
    {
      name: 'states of a run',
      log: [created(1), created(2), created(1), created(2)],
      are: [false, false, true, true],
    },
    {
      name: 'not a deletion of the version, which is new',
      log: [created(1), deleted(1), deleted(1)],
      are: [false, false, true],
    },
    {
      name: 'not the state that a repeated tombstone has hidden',
      log: [created(1), tombstone, created(2), created(1), tombstone, created(2)],
      are: [false, false, false, true, false, false],
    },
  ])('are $name', ({ log, are }) => {
    expect(repetitions(log)).toEqual(are);
  });

  test('is not the same record read again', () => {
    const change = changeOf(created(1), 5);
    expect(isRepetition(evolve(null, change, rules).entity, change)).toBe(false);
  });

  test('changes nothing that readers see', () => {
    const seenIn = (entity: Entity | null) => (entity?.deletedAt ? undefined : entity?.state);
    let count = 0;
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = createRandom(seed);
      let entity: Entity | null = null;
      for (const change of randomChanges(random, 6)) {
        const before: Entity | null = entity;
        ({ entity } = evolve(before, change, rules));
        if (!isRepetition(before, change)) continue;
        count += 1;
        expect({ seed, seen: seenIn(entity) }).toEqual({ seed, seen: seenIn(before) });
      }
    }
    expect(count).toBeGreaterThan(100);
  });
});
