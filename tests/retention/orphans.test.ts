import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { purgeDeadLetters } from '../../shared/control/ledger-store.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { day, eventsOf, useReadModel } from './read-model.ts';

const { channel, conversation, message } = eventsOf('a');
const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
const purged = (messages: number) => ({ conversations: 0, messages });

/** Kafka may remove the last record of a conversation from a compacted log before it removes those of its messages. */
describe('a message whose conversation is missing', () => {
  const model = useReadModel();

  const findMessage = () =>
    collectionOf<StoredDocument>(model.database, 'message').findOne({ _id: 'msg_a_000' });

  const arrival = day(100);
  const due = day(130);
  const justBeforeDue = day(130, -1);

  test('is deleted 30 days after its first arrival', async () => {
    await model.apply([message(0)], arrival);
    expect(await model.sweepAsOf(justBeforeDue)).toEqual(purged(0));
    expect(await findMessage()).toMatchObject({ state: { id: 'msg_a_000' }, orphanedAt: arrival });
    expect(await model.sweepAsOf(due)).toEqual(purged(1));
    expect(await findMessage()).toEqual({
      _id: 'msg_a_000',
      orgId: 'org_1',
      version: 1,
      expiresAt: day(160),
      revision: expect.any(Number) as number,
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
    expect(await model.sweepAsOf(day(131))).toEqual(purged(0));
  });

  test('is deleted after 30 days although another organization has a conversation of this id', async () => {
    const foreignConversation = { ...conversation(0), orgId: 'org_2' };
    await model.apply([channel(0), foreignConversation, message(0)], arrival);
    expect(await model.sweepAsOf(justBeforeDue)).toEqual(purged(0));
    expect(await model.sweepAsOf(due)).toEqual(purged(1));
  });

  test('is deleted after 30 days if it arrives after a sweep has purged its conversation', async () => {
    await model.apply([channel(), conversation(0)], day(10));
    expect(await model.sweepAsOf(day(40))).toEqual({ conversations: 1, messages: 0 });
    await model.apply([message(0)], arrival);
    expect(await model.sweepAsOf(justBeforeDue)).toEqual(purged(0));
    expect(await model.sweepAsOf(due)).toEqual(purged(1));
  });

  test('is deleted 30 days after its first arrival although workers write it again meanwhile', async () => {
    await model.apply([contact('Ada', 1), message(0)], arrival);
    // The new name of its author refreshes the message.
    await model.apply([contact('Countess', 2)], day(110));
    // A replay delivers the same version again.
    await model.apply([message(0)], day(115));
    await model.apply([message(0, 2)], day(120));
    expect(await model.sweepAsOf(justBeforeDue)).toEqual(purged(0));
    expect(await findMessage()).toMatchObject({
      version: 2,
      joined: { author: { name: 'Countess' } },
      orphanedAt: arrival,
    });
    expect(await model.sweepAsOf(due)).toEqual(purged(1));
  });

  test('waits for another 30 days if MongoDB refuses its refresh', async () => {
    await model.apply([channel(0), conversation(0), message(0)], arrival);
    const marked = { $set: { orphanedAt: arrival } };
    await collectionOf<StoredDocument>(model.database, 'message').updateOne({}, marked);
    const deps = model.sweepDeps(due);
    const write: Store['write'] = async (kind, writes) => {
      const refused = new Map(
        kind === 'message' ? writes.map(({ document }) => [document._id, 'too large']) : [],
      );
      const accepted = writes.filter(({ document }) => !refused.has(document._id));
      return { ...(await model.store.write(kind, accepted)), refused };
    };
    // then the sweep purges nothing, and marks the message for a sweep 30 days later
    expect(await sweep({ ...deps, store: { ...model.store, write } })).toEqual(purged(0));
    expect(await findMessage()).toMatchObject({ state: { id: 'msg_a_000' }, orphanedAt: due });
    // then the message is no longer an orphan once MongoDB accepts the refresh
    expect(await model.sweepAsOf(day(160))).toEqual(purged(0));
    expect(await findMessage()).not.toHaveProperty('orphanedAt');
  });

  test('is kept while a dead letter may bring its conversation', async () => {
    // given a message whose conversation is a dead letter
    await model.apply([message(0)], arrival);
    const id = await storeDeadLetter(model, conversation(0), { now: arrival });
    // then the message stays, and the API serves the message once an operator has redriven the conversation
    expect(await model.sweepAsOf(due)).toEqual(purged(0));
    expect(await findMessage()).toMatchObject({ orphanedAt: due });
    await model.apply([channel(0), conversation(0)], day(140));
    await purgeDeadLetters(model.control, [id], { by: 'ann', at: arrival });
    expect(await model.sweepAsOf(day(170))).toEqual(purged(0));
    expect((await model.answersAt('a', day(170))).messages).toMatchObject([{ id: 'msg_a_000' }]);
  });

  test('is deleted among more messages than one page of the sweep', async () => {
    // given 1,100 messages, every third of them with a conversation
    const kept = 367;
    const orphans = 733;
    const messages = Array.from({ length: kept + orphans }, (_, index) => {
      const id = `msg_a_${String(index).padStart(4, '0')}`;
      const conversationId = index % 3 === 0 ? 'conv_a' : `conv_${index}`;
      return { ...message(0), id, data: { ...message(0).data, id, conversationId } };
    });
    await model.applyBatch(messages, arrival);
    await model.apply([channel(0), conversation(0)], arrival);
    expect(await model.sweepAsOf(due)).toEqual(purged(orphans));
    const living = { state: { $exists: true } };
    expect(await collectionOf(model.database, 'message').countDocuments(living)).toBe(kept);
    expect(await model.sweepAsOf(due)).toEqual(purged(0));
  });
});
