import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { purgeDeadLetters } from '../../shared/control/ledger-store.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { day, eventsOf, useReadModel } from './read-model.ts';

const { channel, conversation, message } = eventsOf('a');
const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
const sweptMessages = (messages: number) => ({ conversations: 0, messages });

/** A compacted log may contain messages long after the last record of their conversation was removed. */
describe('a message whose conversation is missing', () => {
  const model = useReadModel();

  const stored = (name = 'a') =>
    collectionOf<StoredDocument>(model.database, 'message').findOne({ _id: `msg_${name}_000` });

  test('is deleted 30 days after its arrival, whatever the reason for the missing conversation', async () => {
    // given a conversation that never comes, a conversation of another organization, and one that a sweep purges before
    // its message
    const other = eventsOf('other');
    const swept = eventsOf('swept');
    const again = eventsOf('again');
    await model.apply([swept.channel(), swept.conversation(0)], day(10));
    expect(await model.sweepAsOf(day(40))).toEqual({ conversations: 1, messages: 0 });
    const foreign = { ...other.conversation(0), orgId: 'org_2' };
    await model.apply([message(0), other.channel(0), foreign, other.message(0), swept.message(0)], day(100));
    // and a message that workers refresh and replay within the 30 days
    await model.apply([contact('Ada', 1), again.message(0)], day(100));
    await model.apply([contact('Countess', 2)], day(110));
    await model.apply([again.message(0)], day(115));
    await model.apply([again.message(0, 2)], day(120));
    expect(await model.sweepAsOf(day(130, -1))).toEqual(sweptMessages(0));
    expect(await stored()).toMatchObject({ state: { id: 'msg_a_000' }, orphanedAt: day(100) });
    expect(await stored('again')).toMatchObject({
      version: 2,
      joined: { author: { name: 'Countess' } },
      orphanedAt: day(100),
    });
    expect(await model.sweepAsOf(day(130))).toEqual(sweptMessages(4));
    expect(await stored()).toEqual({
      _id: 'msg_a_000',
      orgId: 'org_1',
      version: 1,
      expiresAt: day(160),
      revision: expect.any(Number) as number,
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
    expect(await model.sweepAsOf(day(131))).toEqual(sweptMessages(0));
  });

  test('waits for another 30 days if its conversation has come, but MongoDB refuses the refresh', async () => {
    await model.apply([channel(0), conversation(0), message(0)], day(100));
    const marked = { $set: { orphanedAt: day(100) } };
    await collectionOf<StoredDocument>(model.database, 'message').updateOne({}, marked);
    const deps = model.sweepDeps(day(130));
    const write: Store['write'] = async (kind, writes) => {
      const refused = new Map(
        kind === 'message' ? writes.map(({ document }) => [document._id, 'too large']) : [],
      );
      const others = writes.filter(({ document }) => !refused.has(document._id));
      return { ...(await model.store.write(kind, others)), refused };
    };
    // then the sweep ends, purges nothing, and comes to the message again after 30 days
    expect(await sweep({ ...deps, store: { ...model.store, write } })).toEqual(sweptMessages(0));
    expect(await stored()).toMatchObject({ state: { id: 'msg_a_000' }, orphanedAt: day(130) });
    // and then, because MongoDB accepts the refresh, the message is no longer an orphan
    expect(await model.sweepAsOf(day(160))).toEqual(sweptMessages(0));
    expect(await stored()).not.toHaveProperty('orphanedAt');
  });

  test('waits for another 30 days while a dead letter may bring its conversation', async () => {
    // given a message whose conversation is a dead letter
    await model.apply([message(0)], day(100));
    const id = await storeDeadLetter(model, conversation(0), { now: day(100) });
    // then the message stays, and the API serves it once an operator has redriven the conversation
    expect(await model.sweepAsOf(day(130))).toEqual(sweptMessages(0));
    expect(await stored()).toMatchObject({ orphanedAt: day(130) });
    await model.apply([channel(0), conversation(0)], day(140));
    await purgeDeadLetters(model.control, [id], { by: 'ann', at: day(100) });
    expect(await model.sweepAsOf(day(170))).toEqual(sweptMessages(0));
    expect((await model.answersAt('a', day(170))).messages).toMatchObject([{ id: 'msg_a_000' }]);
  });

  test('is deleted however many such messages there are, and a message with its conversation is kept', async () => {
    const many = Array.from({ length: 1_100 }, (_, index) => {
      const id = `msg_a_${String(index).padStart(4, '0')}`;
      const conversationId = index % 3 === 0 ? 'conv_a' : `conv_${index}`;
      return { ...message(0), id, data: { ...message(0).data, id, conversationId } };
    });
    await model.applyAtOnce(many, day(100));
    await model.apply([channel(0), conversation(0)], day(100));
    expect(await model.sweepAsOf(day(130))).toEqual(sweptMessages(733));
    const living = { state: { $exists: true } };
    expect(await collectionOf(model.database, 'message').countDocuments(living)).toBe(367);
    expect(await model.sweepAsOf(day(130))).toEqual(sweptMessages(0));
  });
});
