import type { Db } from 'mongodb';
import { resources } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { day, eventsOf, openReadModel, type ReadModel } from './read-model.ts';

const { channel, conversation, message } = eventsOf('a');
const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
const freed = (messages: number) => ({ conversations: 0, messages });

/** A compacted log may contain messages long after the last record of their conversation was removed. */
describe('a message whose conversation is missing', () => {
  let model: ReadModel;

  beforeEach(async () => {
    model = await openReadModel();
  }, 60_000);
  afterEach(() => model.close(), 60_000);

  const stored = () => collectionOf<StoredDocument>(model.database, 'message').findOne({ _id: 'msg_a_000' });
  /** Sweeps as of day 30; `before` runs between the check for messages of a conversation and its update. */
  const sweepWith = (before: () => Promise<void>) => {
    const database = Object.create(model.database, {
      collection: {
        value: (name: string) => {
          const collection = model.database.collection(name);
          const updateMany = collection.updateMany.bind(collection);
          if (name === resources.conversation.collection)
            collection.updateMany = async (...call) => {
              await before();
              return updateMany(...call);
            };
          return collection;
        },
      },
    }) as Db;
    return sweep({ ...model.sweepDeps(day(30)), database });
  };

  test('is deleted after 30 days, and not before', async () => {
    await model.apply([message(0)], day(100));
    expect(await model.sweepAsOf(day(130, -1))).toEqual(freed(0));
    expect(await stored()).toMatchObject({ state: { id: 'msg_a_000' }, orphanedAt: day(100) });
    expect(await model.sweepAsOf(day(130))).toEqual(freed(1));
    expect(await stored()).toEqual({
      ...{ _id: 'msg_a_000', orgId: 'org_1', version: 1, revision: 2, expiresAt: day(160) },
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
  }, 60_000);

  test('is kept if its conversation arrives, and is deleted together with it', async () => {
    await model.apply([message(0)], day(100));
    await model.apply([channel(0), conversation(0)], day(110));
    expect(await model.sweepAsOf(day(130))).toEqual(freed(0));
    const { messages } = await model.answersAt('a', day(130));
    expect(messages).toMatchObject([{ id: 'msg_a_000' }]);
    expect(await stored()).not.toHaveProperty('orphanedAt');
    await model.apply([channel(30, 2)], day(130));
    expect(await model.sweepAsOf(day(130))).toEqual({ conversations: 1, messages: 1 });
  }, 60_000);

  test('is deleted if the conversation belongs to another organization', async () => {
    await model.apply([channel(0), { ...conversation(0), orgId: 'org_2' }, message(0)], day(100));
    expect(await model.sweepAsOf(day(130))).toEqual(freed(1));
    expect(await model.sweepAsOf(day(131))).toEqual(freed(0));
  }, 60_000);

  test('is deleted 30 days after it arrived, if its conversation was swept before', async () => {
    // given a conversation that was swept before one of its messages arrived
    await model.apply([channel(), conversation(0)], day(10));
    expect(await model.sweepAsOf(day(40))).toEqual({ conversations: 1, messages: 0 });
    await model.apply([message(0)], day(50));
    expect(await model.sweepAsOf(day(80, -1))).toEqual(freed(0));
    expect(await model.sweepAsOf(day(80))).toEqual(freed(1));
  }, 60_000);

  test('is deleted 30 days after it arrived, however often it is refreshed or replayed meanwhile', async () => {
    await model.apply([contact('Ada', 1), message(0)], day(100));
    await model.apply([contact('Countess', 2)], day(110));
    await model.apply([message(0)], day(115));
    await model.apply([message(0, 2)], day(120));
    expect(await stored()).toMatchObject({
      ...{ version: 2, joined: { author: { name: 'Countess' } }, orphanedAt: day(100) },
    });
    expect(await model.sweepAsOf(day(130, -1))).toEqual(freed(0));
    expect(await model.sweepAsOf(day(130))).toEqual(freed(1));
  }, 60_000);

  test('is still marked as an orphan when a refresh that read its conversation before the sweep is late', async () => {
    // given a conversation that has expired
    await model.apply([channel(), conversation(0), contact('Ada', 1)]);
    // and a worker on the contact that halts before it writes the message
    const halted = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    const slow: Store = {
      ...model.store,
      write: async (kind, writes) => {
        if (kind === 'message') {
          halted.resolve();
          await resumed.promise;
        }
        return model.store.write(kind, writes);
      },
    };
    let refreshed: Promise<unknown> = Promise.resolve();
    // when the sweep has found no message, and then one arrives and is being refreshed
    const swept = await sweepWith(async () => {
      await model.apply([message(0)]);
      const rename = changeOf(contact('Countess', 2));
      refreshed = applyChanges(engineDeps(slow, { now: () => day(31) }), 'contact', [rename]);
      await halted.promise;
    });
    expect(swept).toEqual({ conversations: 1, messages: 0 });
    // and the worker writes after the conversation was freed
    resumed.resolve();
    await refreshed;
    // then the message is an orphan since the sweep, and is deleted 30 days later
    expect(await stored()).toMatchObject({
      ...{ joined: { author: { name: 'Countess' } }, orphanedAt: day(30) },
    });
    expect(await model.sweepAsOf(day(60))).toEqual(freed(1));
  }, 60_000);

  test('is deleted whatever the number of such messages, while messages with a conversation are kept', async () => {
    const many = Array.from({ length: 1_100 }, (_, index) => {
      const id = `msg_a_${String(index).padStart(4, '0')}`;
      const conversationId = index % 3 === 0 ? 'conv_a' : `conv_${index}`;
      return { ...message(0), id, data: { ...message(0).data, id, conversationId } };
    });
    await model.applyAtOnce(many, day(100));
    await model.apply([channel(0), conversation(0)], day(100));
    expect(await model.sweepAsOf(day(130))).toEqual(freed(733));
    const living = { state: { $exists: true } };
    expect(await collectionOf(model.database, 'message').countDocuments(living)).toBe(367);
    expect(await model.sweepAsOf(day(130))).toEqual(freed(0));
  }, 60_000);
});
