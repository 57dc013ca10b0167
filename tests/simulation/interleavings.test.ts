import type { Change } from '../../services/projector/events/change.ts';
import type { UpdateDeps } from '../../services/projector/materialize/fan-out.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { newRevision } from '../../shared/store/revision.ts';
import { applyChanges, changeAt, changeOf, deletionOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { emptyData, envelopeOf, memoryStore } from './memory-store.ts';

const crashed = new Error('the worker crashed');

/** The store awaits `pause` before each step. By default each record is at the offset of its version, else at `at`. */
type ApplyOptions = { pause?: (label: string) => Promise<void>; at?: Change['position'] };

/** A store in memory, and workers that each apply a chunk of events of one kind. */
function createTestWorkers() {
  const data = emptyData();
  const apply = async (
    events: Event[],
    { pause, at, ...others }: Partial<UpdateDeps> & ApplyOptions = {},
  ) => {
    const [first] = events;
    if (!first) return;
    const deps = engineDeps(memoryStore(data, pause), others);
    await applyChanges(
      deps,
      first.kind,
      events.map((event) => (at ? changeAt(event, at) : changeOf(event))),
    );
  };
  /** A worker that halts before the step `label`. Once resumed, it goes on, or does that step and crashes. */
  const applyLate = async (
    events: Event[],
    label: string,
    ending: 'crashes' | 'goes on',
    others: Partial<UpdateDeps> & Pick<ApplyOptions, 'at'> = {},
  ) => {
    const resumed = Promise.withResolvers<void>();
    const halted = Promise.withResolvers<void>();
    let hasHalted = false;
    const pause = async (step: string) => {
      if (hasHalted && ending === 'crashes') throw crashed;
      if (step !== label) return;
      hasHalted = true;
      halted.resolve();
      await resumed.promise;
    };
    const end = apply(events, { pause, ...others }).then(
      () => 'goes on',
      (error: unknown) => error,
    );
    // Work that never reaches that step ends or fails.
    await Promise.race([halted.promise, end]);
    expect(hasHalted).toBe(true);
    return async () => {
      resumed.resolve();
      expect(await end).toBe(ending === 'crashes' ? crashed : 'goes on');
    };
  };
  const stored = (kind: Kind, id: string) => data.get(kind)?.get(id);
  /** Purges a document as the retention sweep does. */
  const free = (kind: Kind, id: string) => {
    const document = stored(kind, id);
    if (!document) throw new Error(`there is no ${kind} ${id}`);
    const freed = { ...envelopeOf(document), revision: newRevision(), expiresAt: new Date(9) };
    data.get(kind)?.set(id, freed);
    return freed;
  };
  /** A fail-over of MongoDB, which later takes the document back to its present form. */
  const rollBackLater = (kind: Kind, id: string) => {
    const before = stored(kind, id);
    if (!before) throw new Error(`there is no ${kind} ${id}`);
    return () => data.get(kind)?.set(id, before);
  };
  /** Removes a tombstone document, as the TTL monitor does. */
  const expire = (kind: Kind, id: string) => data.get(kind)?.delete(id);
  return { apply, applyLate, stored, free, rollBackLater, expire };
}

const conversation = (version: number, changes: Record<string, unknown> = {}) =>
  created('conversation', 'conv_1', changes, version);

/** These interleavings are too rare for the simulation, so each is played step by step. */
describe('a worker that crashes with a write in progress', () => {
  const before = conversation(1, { ticketId: 'ti_1' });
  const after = conversation(2, { ticketId: 'ti_2' });

  test.each<[string, (at: ReturnType<typeof createTestWorkers>) => Promise<void>]>([
    [
      'when another worker takes its partition, and applies that record with a move',
      ({ apply }) => apply([before, after]),
    ],
    [
      'when another does so and crashes before it refreshes the tickets, and a third applies them one by one',
      async ({ apply, applyLate }) => {
        const end = await applyLate([before, after], 'read ticket ti_2', 'crashes');
        await end();
        await apply([before]);
        await apply([after]);
      },
    ],
  ])('leaves no conversation in a ticket from which it was moved, %s', async (_, move) => {
    // given a worker that has read a new conversation of a ticket, and halts before it writes the ticket
    const at = createTestWorkers();
    await at.apply([created('channel', 'chan_1')]);
    await at.apply([created('ticket', 'ti_1'), created('ticket', 'ti_2')]);
    const resume = await at.applyLate([before], 'write ticket ti_1', 'crashes');
    await move(at);
    // when it then writes and crashes
    await resume();
    expect(at.stored('ticket', 'ti_1')?.joined).toMatchObject({ conversations: [] });
    expect(at.stored('ticket', 'ti_2')?.joined).toMatchObject({ conversations: [{ id: 'conv_1' }] });
  });
});

describe('a redrive that crashes with its write in progress', () => {
  test('the redrive leaves no entity that a worker deleted during the redrive', async () => {
    // given a redrive that is about to write a message
    const { apply, applyLate, stored } = createTestWorkers();
    const message = created('message', 'msg_1');
    const resume = await applyLate([message], 'write message msg_1', 'crashes', { outOfOrder: true });
    // when a worker applies its Kafka tombstone, and the redrive then writes and crashes
    await apply([{ ...message, version: 5, op: 'tombstone' }]);
    await resume();
    // then the message stays deleted, under an organization that no record has named
    expect(stored('message', 'msg_1')).toMatchObject({ orgId: null, deletedAt: new Date(0) });
    expect(stored('message', 'msg_1')).not.toHaveProperty('state');
  });
});

describe('a conversation whose organization no record has named at its deletion', () => {
  test('the conversation takes its messages along once a record names the organization', async () => {
    const { apply, stored } = createTestWorkers();
    // given the Kafka tombstone of a conversation, and then a message, all of whose records are applied
    const applied = { isApplied: () => true };
    await apply([{ ...conversation(1), op: 'tombstone' }], applied);
    await apply([created('message', 'msg_1')], applied);
    expect(stored('message', 'msg_1')).toHaveProperty('state');
    // when its `deleted` event comes
    await apply([deletionOf(conversation(1), 2)], applied);
    expect(stored('message', 'msg_1')).not.toHaveProperty('state');
  });
});

describe('a document whose state was purged', () => {
  test('the document is not restored by a worker that had read it before the purge', async () => {
    // given a worker that is about to write a renamed contact into a message
    const { apply, applyLate, stored, free } = createTestWorkers();
    await apply([created('contact', 'con_1')]);
    await apply([created('message', 'msg_1')]);
    const renamed = created('contact', 'con_1', { name: 'Countess' }, 2);
    const resume = await applyLate([renamed], 'write message msg_1', 'goes on');
    // when the sweep frees the message before the write
    const freed = free('message', 'msg_1');
    await resume();
    expect(stored('message', 'msg_1')).toEqual(freed);
  });

  test('a purged conversation takes its messages along when it is deleted, although its deletion changes no state', async () => {
    const { apply, stored, free } = createTestWorkers();
    await apply([conversation(1)]);
    free('conversation', 'conv_1');
    await apply([created('message', 'msg_1')]);
    await apply([deletionOf(conversation(1), 2)], { isApplied: () => true });
    expect(stored('message', 'msg_1')).toMatchObject({ deletedAt: new Date(0) });
  });
});

describe('an entity that comes back after its tombstone document has expired', () => {
  test('a worker that has read the former entity does not take the new one for it', async () => {
    // given a worker that is about to write a message of a contact
    const { apply, applyLate, stored, expire } = createTestWorkers();
    const contact = created('contact', 'con_1');
    await apply([contact]);
    const resume = await applyLate([created('message', 'msg_1')], 'write message msg_1', 'goes on');
    // when the contact is deleted, expires and comes back before the write
    await apply([deletionOf(contact, 2)]);
    expire('contact', 'con_1');
    const back = created('contact', 'con_1', { name: 'Bob' }, 3);
    await apply([back]);
    await resume();
    expect(stored('message', 'msg_1')?.joined).toMatchObject({ author: { name: 'Bob' } });
  });
});

describe('a write that a fail-over has rolled back', () => {
  const contact = (version: number, name: string) => created('contact', 'con_1', { name }, version);

  test('a worker that has read the lost write does not overwrite the write that replaced it', async () => {
    // given a worker that has read the second version of a contact, and is about to write the third
    const { apply, applyLate, stored, rollBackLater } = createTestWorkers();
    await apply([contact(1, 'Ada')]);
    const rollBack = rollBackLater('contact', 'con_1');
    await apply([contact(2, 'Bob')]);
    const resume = await applyLate([contact(3, 'Cleo')], 'write contact con_1', 'goes on');
    // when that version is rolled back, and another worker writes the fourth before the first goes on
    rollBack();
    await apply([contact(4, 'Dora')]);
    await resume();
    expect(stored('contact', 'con_1')?.state).toMatchObject({ name: 'Dora' });
  });

  test('a worker that has joined the lost write does not take the replacing write for it', async () => {
    // given a worker that is about to write a message of a contact
    const { apply, applyLate, stored, rollBackLater } = createTestWorkers();
    await apply([contact(1, 'Ada')]);
    const rollBack = rollBackLater('contact', 'con_1');
    await apply([contact(2, 'Bob')]);
    const resume = await applyLate([created('message', 'msg_1')], 'write message msg_1', 'goes on');
    // when the contact is rolled back, and written again before the write
    rollBack();
    await apply([contact(3, 'Cleo')]);
    await resume();
    expect(stored('message', 'msg_1')?.joined).toMatchObject({ author: { name: 'Cleo' } });
  });
});

describe('a fan-out whose record raises no position of the entity', () => {
  test('the fan-out is repeated after a crash, although the latest record of the version is applied', async () => {
    // given a contact of partition 1, whose records are all applied, and a ticket that shows it
    const { apply, applyLate, stored } = createTestWorkers();
    const contact = created('contact', 'con_1');
    const isApplied: UpdateDeps['isApplied'] = (_kind, { partition }) => partition === 1;
    await apply([contact], { at: { partition: 1, offset: 9, timestampMs: 9 }, isApplied });
    await apply([created('ticket', 'ti_1')]);
    // when a worker reads the deletion of the same version from partition 0, earlier, and crashes before the fan-out
    const earlier = { at: { partition: 0, offset: 1, timestampMs: 1 }, isApplied };
    const crash = await applyLate(
      [deletionOf(contact, 1)],
      "dependents in ticket after ''",
      'crashes',
      earlier,
    );
    await crash();
    expect(stored('ticket', 'ti_1')?.joined).toMatchObject({ requester: { name: contact.data?.name } });
    await apply([deletionOf(contact, 1)], earlier);
    expect(stored('ticket', 'ti_1')?.joined).toMatchObject({ requester: null });
  });
});

describe('a version that a Kafka tombstone has deleted, and that is appended again', () => {
  test('the version does not resume its fan-out at a cursor from before the tombstone', async () => {
    // given a worker that is about to save how far the fan-out of a contact has come, and then crashes
    const { apply, applyLate, stored } = createTestWorkers();
    const contact = created('contact', 'con_1', { name: 'Ada' });
    const at = (offset: number) => ({ at: { partition: 0, offset, timestampMs: offset } });
    await apply([created('ticket', 'ti_1'), created('ticket', 'ti_2')]);
    const cursor = 'save the fan-out cursor of contact con_1';
    const resume = await applyLate([contact], cursor, 'crashes', at(1));
    // when another worker applies the tombstone, and a third writes the contact again and crashes before its fan-out
    await apply([{ ...contact, op: 'tombstone' }], at(2));
    const crash = await applyLate([contact], 'dependents in ticket', 'crashes', at(3));
    await resume();
    await crash();
    expect(stored('contact', 'con_1')).not.toHaveProperty('fanOutCursor');
    // then a fourth worker refreshes both tickets
    await apply([contact], at(3));
    for (const id of ['ti_1', 'ti_2'])
      expect(stored('ticket', id)?.joined).toMatchObject({ requester: { name: 'Ada' } });
  });
});

describe('the metrics of the engine', () => {
  const ticket = created('ticket', 'ti_1');

  test.each<[string, string, Event]>([
    ['conflict', 'another write of the document', created('ticket', 'ti_1', { title: 'Other' }, 2)],
    ['reference', 'a change of a reference', created('contact', 'con_1')],
  ])('count a document as repeated by %s after %s', async (cause, _, meanwhile) => {
    const { apply, applyLate } = createTestWorkers();
    const repeated: [string, string, number][] = [];
    const onRepeated: UpdateDeps['onRepeated'] = (...repetition) => repeated.push(repetition);
    const resume = await applyLate([ticket], 'write ticket ti_1', 'goes on', { onRepeated });
    await apply([meanwhile]);
    await resume();
    expect(repeated).toEqual([['ticket', cause, 1]]);
  });

  test('show how many documents a fan-out has still to refresh, 0 after it, and each page that is saved', async () => {
    const { apply } = createTestWorkers();
    await apply([created('contact', 'con_1')]);
    await apply([ticket, created('ticket', 'ti_2')]);
    const waiting: number[] = [];
    const progress: (boolean | undefined)[] = [];
    await apply([created('contact', 'con_1', { name: 'Other' }, 2)], {
      onFanOut: (documents) => waiting.push(documents),
      onProgress: (isSaved) => progress.push(isSaved),
    });
    expect({ most: Math.max(...waiting), last: waiting.at(-1) }).toEqual({ most: 1, last: 0 });
    expect(progress.filter(Boolean)).toHaveLength(2);
  });
});
