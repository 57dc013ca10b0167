import type { Document as Stored } from 'mongodb';
import { history, useTwoBuilds } from './two-builds.ts';

describe('two generations of one log, compared as the API presents them,', () => {
  const builds = useTwoBuilds();
  const collection: typeof builds.collection = (...of) => builds.collection(...of);

  test('do not differ by messages that the API does not serve, however many there are', async () => {
    const before = await collection('message').findOne({ _id: 'msg_old' });
    const orphans = ['msg_a', 'msg_b', 'msg_c'].map((_id) => ({
      ...(before as Stored),
      _id,
      state: { ...(before?.state as object), id: _id, conversationId: 'conv_gone' },
    }));
    await collection('message').insertMany(orphans);
    expect(await builds.compare({ recheckMax: 2 })).toMatchObject({ differences: 0, isCutShort: false });
    await collection('message').deleteMany({ _id: { $in: orphans.map(({ _id }) => _id) } });
  });

  test('are equal despite a missing tombstone document, but not despite one that rejects later events', async () => {
    const tombstone = { _id: 'tag_gone', orgId: 'org_1', version: 3, revision: 1, position: null };
    await collection('tag', 1).insertOne(tombstone);
    expect(await builds.compare()).toMatchObject({ differences: 0, compared: history.length });
    await collection('tag').insertOne({ ...tombstone, version: 99 });
    expect((await builds.compare()).counts).toEqual({ version: 1 });
    for (const number of [1, 2]) await collection('tag', number).deleteOne({ _id: 'tag_gone' });
  });

  test('are compared completely, however many batches there are', async () => {
    const before = await collection('tag').findOne({ _id: 'tag_1' });
    const many = Array.from({ length: 450 }, (_, index) => ({ ...(before as Stored), _id: `many_${index}` }));
    for (const number of [1, 2]) await collection('tag', number).insertMany(many);
    await collection('tag').updateOne({ _id: 'many_0' }, { $set: { 'state.name': 'other' } });
    expect(await builds.compare()).toMatchObject({ differing: 1, compared: history.length + 450 });
    for (const number of [1, 2]) await collection('tag', number).deleteMany({ _id: /^many_/ });
  });

  test('do not differ by conversations that one generation has purged', async () => {
    // given 203 conversations, of which generation 1 embeds the first 200, three of them expired
    const conversation = await collection('conversation').findOne({ _id: 'conv_1' });
    const ticket = await collection('ticket').findOne({ _id: 'ti_1' });
    if (!conversation || !ticket) throw new Error('the documents are missing');
    const state = conversation.state as Record<string, unknown>;
    const { channel } = conversation.joined as { channel: { dataRetentionDays: number } };
    const all = Array.from({ length: 203 }, (_, index) => {
      const id = `conv_of_${String(index).padStart(3, '0')}`;
      const times = index < 3 ? { updatedAt: new Date('2020-01-01T00:00:00Z') } : {};
      const short = index < 3 ? { channel: { ...channel, dataRetentionDays: 1 } } : {};
      return {
        ...conversation,
        _id: id,
        byCreated: `2026-01-01T00:00:00.000Z${id}`,
        state: { ...state, ...times, id, ticketId: 'ti_1' },
        joined: { ...(conversation.joined as object), ...short },
      };
    });
    const embedding = (some: typeof all) => ({
      conversations: some.map((one) => {
        const { id, role, status, createdAt, updatedAt } = one.state as Record<string, unknown>;
        const retainUntil =
          one.joined.channel?.dataRetentionDays === 1 ? new Date('2020-01-02T00:00:00Z') : null;
        return { id, role, status, createdAt, updatedAt, retainUntil };
      }),
      moreAfter: some.at(-1)?.byCreated ?? null,
    });
    const embed = (number: number, some: typeof all) =>
      collection('ticket', number).updateOne(
        { _id: 'ti_1' },
        { $set: { joined: { ...(ticket.joined as object), ...embedding(some) } } },
      );
    await collection('conversation', 1).insertMany(all);
    await collection('conversation', 2).insertMany(all.slice(3));
    await embed(1, all.slice(0, 200));
    await embed(2, all.slice(3));
    expect((await builds.compare()).samples).toEqual([]);
    // and differ if one generation serves fewer of them
    await embed(2, all.slice(4));
    expect((await builds.compare()).samples).toMatchObject([{ id: 'ti_1', field: 'joined.conversations' }]);
    for (const number of [1, 2]) {
      await collection('conversation', number).deleteMany({ _id: /^conv_of_/ });
      await collection('ticket', number).replaceOne({ _id: 'ti_1' }, ticket);
    }
  });
});
