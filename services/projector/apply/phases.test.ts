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

type Options = { data?: Data; plant?: (store: Store) => Partial<Store>; skipped?: Chunk['skipped'] };

/** Applies one batch. Returns the ids that are then stored, those of the applied changes, and the rejected records. */
async function apply(kind: Kind, records: KafkaRecord[], options: Options = {}) {
  const { data = emptyData(), plant = () => ({}), skipped = new Map() } = options;
  const store = memoryStore(data);
  const notRefreshed: string[] = [];
  const deps = engineDeps(
    { ...store, ...plant(store) },
    { onNotRefreshed: (of, id, reason) => notRefreshed.push(`${of} ${id}: ${reason}`) },
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
const withBadRecord = (
  kind: Kind,
  prefix: string,
  fields: (id: string) => Event['data'] = () => ({ id: '' }),
) => names.map((name, index) => recordOf(created(kind, prefix + name, fields(prefix + name)), index + 1));
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

/** The same tickets; the parser throws at the headers of the bad one, which end too early. */
const withBrokenHeaders = () =>
  tickets().with(badOffset - 1, { ...(tickets()[3] as KafkaRecord), headers: Buffer.from([4, 200]) });
/** The contacts, and a conversation of the bad ticket at whose instant every join of that ticket throws. */
const givenEdited = (data = givenContacts()): Data => {
  const state = { id: 'conv_edited', ticketId: 'ti_bad', channelId: 'chan_1', updatedAt: 'broken' };
  data.get('conversation')?.set(state.id, { ...storedDocument(state), byCreated: '1 conv_edited' });
  data.get('channel')?.set('chan_1', storedDocument({ id: 'chan_1', dataRetentionDays: 1 }));
  return data;
};

const isBad = (args: unknown) => JSON.stringify(args).includes('_bad');
const throwsFor =
  (error: Error, matches: (args: unknown) => boolean = isBad) =>
  <T extends unknown[], R>(original: (...args: T) => Promise<R>) =>
  async (...args: T): Promise<R> => {
    if (matches(args)) throw error;
    return original(...args);
  };

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

  const throwBsonError = throwsFor(new BSON.BSONError('canary'));
  test.each<[string, (store: Store) => Partial<Store>]>([
    ['reading a stored document', ({ readCurrent }) => ({ readCurrent: throwBsonError(readCurrent) })],
    ['writing a document', ({ write }) => ({ write: throwBsonError(write) })],
    ['finding its dependents', ({ findDependents }) => ({ findDependents: throwBsonError(findDependents) })],
    [
      'refreshing its many dependents',
      ({ findDependentsPage }) => ({
        findDependents: async () => null,
        findDependentsPage: throwBsonError(findDependentsPage),
      }),
    ],
  ])('in %s', async (_, plant) => {
    const { stored, changes, rejected } = await apply('contact', contacts(), { plant });
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
      plant: ({ write }) => ({ write: throwBsonError(write) }),
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
  const loseConnection = throwsFor(new MongoNetworkError('connection closed'));
  const applying = apply('contact', contacts(), { plant: ({ write }) => ({ write: loseConnection(write) }) });
  await expect(applying).rejects.toThrow('connection closed');
});

test('a broken invariant of the engine fails the batch without a dead letter', async () => {
  const breakInvariant = throwsFor(new AssertionError({ message: 'of the engine' }));
  const applying = apply('contact', contacts(), { plant: ({ write }) => ({ write: breakInvariant(write) }) });
  await expect(applying).rejects.toThrow('of the engine');
});

test('an error of code that occurs only once makes no dead letter', async () => {
  let calls = 0;
  const isFirstCall = () => {
    calls += 1;
    return calls === 1;
  };
  const throwOnce = throwsFor(new TypeError('of a driver'), isFirstCall);
  const [first] = contacts();
  const plant = ({ write }: Store) => ({ write: throwOnce(write) });
  expect(await apply('contact', first ? [first] : [], { plant })).toMatchObject({
    stored: ['con_1'],
    rejected: [],
  });
});

test('an outage at the second attempt of a change fails the batch without a dead letter', async () => {
  const failures = [new TypeError('of a driver'), new MongoNetworkError('connection closed')];
  const plant = ({ write }: Store): Partial<Store> => ({
    write: (...args) => {
      const failure = failures.shift();
      return failure ? Promise.reject(failure) : write(...args);
    },
  });
  const [first] = contacts();
  const applying = apply('contact', first ? [first] : [], { plant });
  await expect(applying).rejects.toThrow('connection closed');
});

test('a skipped record becomes a dead letter without being parsed', async () => {
  const rejection: Rejection = { reason: 'skipped', detail: 'skipped by ada: broken' };
  const skipped = new Map([[badOffset, rejection]]);
  const { stored, rejected } = await apply('ticket', withBrokenHeaders(), { skipped });
  expect(stored).toEqual(neighbours('ti_'));
  expect(rejected).toEqual([{ offset: badOffset, ...rejection }]);
});
