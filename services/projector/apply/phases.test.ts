import { AssertionError } from 'node:assert';
import { BSON, MongoNetworkError } from 'mongodb';
import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { type Data, emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import {
  applyRecords,
  deletionOf,
  engineDeps,
  recordOf,
  storedDocument,
} from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import type { Event } from '../../../tests/support/events.ts';
import type { Chunk } from '../hand-over.ts';
import type { Store } from '../materialize/store.ts';

type Options = { data?: Data; overrides?: (store: Store) => Partial<Store>; skipped?: Chunk['skipped'] };

/**
 * Applies one batch. Returns the ids that are then stored, those of the applied changes, the rejected records, and the
 * dependent documents that were not refreshed, with the reason.
 */
async function apply(kind: Kind, records: KafkaRecord[], options: Options = {}) {
  const { data = emptyData(), overrides = () => ({}), skipped = new Map() } = options;
  const store = memoryStore(data);
  const notRefreshed: string[] = [];
  const deps = engineDeps(
    { ...store, ...overrides(store) },
    { onNotRefreshed: (dependentKind, id, reason) => notRefreshed.push(`${dependentKind} ${id}: ${reason}`) },
  );
  const { changes, rejected } = await applyRecords(deps, kind, records, skipped);
  return {
    stored: [...(data.get(kind)?.keys() ?? [])].sort(),
    changes: changes.map(({ id }) => id).sort(),
    rejected: rejected.map(({ record, rejection }) => ({ offset: record.position.offset, ...rejection })),
    notRefreshed,
  };
}

const names = ['1', '2', '3', 'bad', '5', '6', '7'];
const badOffset = 4;
/** A bad record among neighbours in its batch. */
const withBadRecord = (kind: Kind, prefix: string, fields: (id: string) => Event['data']) =>
  names.map((name, index) => recordOf(created(kind, prefix + name, fields(prefix + name)), index + 1));
const neighbours = (prefix: string) => names.filter((name) => name !== 'bad').map((name) => prefix + name);
const tickets = () =>
  withBadRecord('ticket', 'ti_', (id) => ({ id, title: id, requesterId: id.replace('ti', 'con') }));
const contacts = () => withBadRecord('contact', 'con_', (id) => ({ id, name: id }));
/** The contacts that the tickets name. */
const givenContacts = (): Data => {
  const data = emptyData();
  for (const id of names.map((name) => `con_${name}`))
    data.get('contact')?.set(id, storedDocument({ id, name: `before ${id}` }, { version: 0 }));
  return data;
};

/** The same tickets, but the headers of the bad one end too early. */
const withBrokenHeaders = () =>
  tickets().map((record) =>
    record.position.offset === badOffset ? { ...record, headers: Buffer.from([4, 200]) } : record,
  );
/** Adds a conversation to the data. Its broken `updatedAt` makes every join of the bad ticket throw. */
const givenEdited = (data = givenContacts()): Data => {
  const state = { id: 'conv_edited', ticketId: 'ti_bad', channelId: 'chan_1', updatedAt: 'broken' };
  data.get('conversation')?.set(state.id, { ...storedDocument(state), byCreated: '1 conv_edited' });
  data.get('channel')?.set('chan_1', storedDocument({ id: 'chan_1', dataRetentionDays: 1 }));
  return data;
};

const areBad = (args: unknown[]) => JSON.stringify(args).includes('_bad');

type Method = 'readCurrent' | 'write' | 'findDependents' | 'findDependentsPage';

/** Overrides a method of the store: a call throws the error if its arguments name the bad entity, or meet `when`. */
function failing(store: Store, method: Method, error: Error, when = areBad): Partial<Store> {
  const original = store[method] as (...args: unknown[]) => Promise<unknown>;
  const override = async (...args: unknown[]) => {
    if (when(args)) throw error;
    return original(...args);
  };
  return { [method]: override };
}

const thrown = (step: string, name: string) => ({
  offset: badOffset,
  reason: 'projector_error',
  detail: `${step}: the code throws ${name}; the projector's log says where`,
});

describe('a record for which the code throws becomes a dead letter without its neighbours', () => {
  test('a join throws for a conversation that was edited by hand', async () => {
    expect(await apply('ticket', tickets(), { data: givenEdited() })).toEqual({
      stored: neighbours('ti_'),
      changes: neighbours('ti_'),
      rejected: [thrown('join', 'TypeError')],
      notRefreshed: [],
    });
  });

  test('the parser throws for headers that end too early', async () => {
    const { stored, rejected } = await apply('ticket', withBrokenHeaders());
    expect({ stored, rejected }).toEqual({
      stored: neighbours('ti_'),
      rejected: [thrown('parse', 'RangeError')],
    });
  });

  const bsonError = new BSON.BSONError('canary');
  test.each<[string, (store: Store) => Partial<Store>]>([
    ['reading a stored document', (store) => failing(store, 'readCurrent', bsonError)],
    ['writing a document', (store) => failing(store, 'write', bsonError)],
    ['finding its dependents', (store) => failing(store, 'findDependents', bsonError)],
    [
      'refreshing its many dependents',
      (store) => ({ findDependents: async () => null, ...failing(store, 'findDependentsPage', bsonError) }),
    ],
  ])('in %s', async (_, overrides) => {
    const { stored, changes, rejected } = await apply('contact', contacts(), { overrides });
    expect(stored).toEqual(expect.arrayContaining(neighbours('con_')));
    expect({ changes, rejected }).toEqual({
      changes: neighbours('con_'),
      rejected: [thrown('engine', 'BSONError')],
    });
  });

  test('a deletion among these records erases no dead letters', async () => {
    const data = emptyData();
    await apply('contact', contacts(), { data });
    const deletions = names.map((name, index) =>
      recordOf(deletionOf(created('contact', `con_${name}`), 2), index + 1),
    );
    const { changes, rejected } = await apply('contact', deletions, {
      data,
      overrides: (store) => failing(store, 'write', bsonError),
    });
    expect({ changes, rejected }).toEqual({
      changes: neighbours('con_'),
      rejected: [thrown('engine', 'BSONError')],
    });
  });
});

test('a change is applied even if the code cannot join a dependent document', async () => {
  const data = givenContacts();
  await apply('ticket', tickets(), { data });
  givenEdited(data);
  const { changes, rejected, notRefreshed } = await apply('contact', contacts(), { data });
  expect(rejected).toEqual([]);
  expect(changes).toContain('con_bad');
  expect(notRefreshed).toEqual([expect.stringContaining('ticket ti_bad: join: the code throws TypeError')]);
  const requesterOf = (id: string) => data.get('ticket')?.get(id)?.joined as { requester: { name?: string } };
  expect(requesterOf('ti_bad').requester.name).toBe('before con_bad');
  expect(requesterOf('ti_1').requester.name).toBe('con_1');
});

test('an error of a server fails the batch without a dead letter', async () => {
  const outage = new MongoNetworkError('connection closed');
  const applying = apply('contact', contacts(), { overrides: (store) => failing(store, 'write', outage) });
  await expect(applying).rejects.toThrow('connection closed');
});

test('a broken invariant of the engine fails the batch without a dead letter', async () => {
  const broken = new AssertionError({ message: 'of the engine' });
  const applying = apply('contact', contacts(), { overrides: (store) => failing(store, 'write', broken) });
  await expect(applying).rejects.toThrow('of the engine');
});

test('an error of code that occurs only once makes no dead letter', async () => {
  let calls = 0;
  const isFirstCall = () => {
    calls += 1;
    return calls === 1;
  };
  const overrides = (store: Store) => failing(store, 'write', new TypeError('of a driver'), isFirstCall);
  expect(await apply('contact', contacts().slice(0, 1), { overrides })).toMatchObject({
    stored: ['con_1'],
    rejected: [],
  });
});

test('an outage at the second attempt of a change fails the batch without a dead letter', async () => {
  const failures = [new TypeError('of a driver'), new MongoNetworkError('connection closed')];
  const overrides = ({ write }: Store): Partial<Store> => ({
    write: (...args) => {
      const failure = failures.shift();
      return failure ? Promise.reject(failure) : write(...args);
    },
  });
  const applying = apply('contact', contacts().slice(0, 1), { overrides });
  await expect(applying).rejects.toThrow('connection closed');
});

test('a skipped record becomes a dead letter without being parsed', async () => {
  const rejection: Rejection = { reason: 'skipped', detail: 'skipped by ada: broken' };
  const skipped = new Map([[badOffset, rejection]]);
  const { stored, rejected } = await apply('ticket', withBrokenHeaders(), { skipped });
  expect(stored).toEqual(neighbours('ti_'));
  expect(rejected).toEqual([{ offset: badOffset, ...rejection }]);
});
