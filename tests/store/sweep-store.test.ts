import type { Kind } from '../../shared/documents/document.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { storedDocument } from '../support/engine.ts';
import { useOpened } from '../support/use-opened.ts';
import { bothStores, conversation, insert, keyOf, position } from './both-stores.ts';

const at = (second: number) => new Date(second * 1_000);
const channel = (id: string, dataRetentionDays: number | null, orgId = 'org_1') =>
  storedDocument({ id, dataRetentionDays }, { orgId });
const message = (id: string, conversationId: string, second: number, orphanedAt?: Date) =>
  storedDocument(
    { id, conversationId, createdAt: at(second) },
    { byCreated: keyOf(second, id), ...(orphanedAt && { orphanedAt }) },
  );
const idsOf = (documents: { _id: string }[]) => documents.map(({ _id }) => _id).sort();

describe.each(bothStores)('the sweep reads from $name', ({ open }) => {
  const opened = useOpened(open, { each: true });
  const given = (kind: Kind, documents: StoredDocument[]) => opened.store.write(kind, documents.map(insert));

  it('the channels with a retention, deleted ones too, after an id', async () => {
    const { state: _state, joined: _joined, refs: _refs, ...deleted } = channel('d', 9, 'org_2');
    await given('channel', [
      channel('a', 3),
      channel('b', 0),
      channel('c', null),
      { ...deleted, deletedAt: at(1), dataRetentionDays: 9 },
      { ...deleted, _id: 'e', deletedAt: at(1) },
    ]);
    const all = [
      { id: 'a', orgId: 'org_1' },
      { id: 'd', orgId: 'org_2' },
    ];
    const ids = ['a', 'b', 'c', 'd', 'e', 'missing'];
    const retentions = await Promise.all(ids.map((id) => opened.sweepStore.readRetention(id)));
    expect(retentions).toEqual([3, 0, null, 9, null, null]);
    expect(await opened.sweepStore.readChannels('')).toEqual(all);
    expect(await opened.sweepStore.readChannels('a')).toEqual(all.slice(1));
    expect(await opened.sweepStore.readChannels('d')).toEqual([]);
  });

  it('the conversations of a channel and its organization, purged ones that keep the reference too', async () => {
    const living = conversation('v2', 'ti_1');
    const { state: _state, joined: _joined, byCreated: _byCreated, ...purged } = conversation('v3', 'ti_1');
    await given('conversation', [
      { ...living, state: { ...living.state, updatedAt: at(5) } },
      purged,
      conversation('v4', 'ti_1', 0, { orgId: 'org_2' }),
      conversation('v5', 'ti_1', 0, { refs: ['channel:chan_2'] }),
    ]);
    const of = { id: 'chan_1', orgId: 'org_1' };
    const envelope = { orgId: 'org_1', version: 1, revision: 1, position: position(1) };
    const both = [
      { _id: 'v2', ...envelope, updatedAt: at(5), key: 'v2' },
      { _id: 'v3', ...envelope, key: 'v3' },
    ];
    expect(await opened.sweepStore.readConversations(of, '', null)).toEqual(both);
    expect(await opened.sweepStore.readConversations(of, 'v2', null)).toEqual(both.slice(1));
  });

  it('those conversations alone that were created up to an instant, in the order of their creation', async () => {
    await given('conversation', [
      conversation('v1', 'ti_1', 3),
      conversation('v2', 'ti_1', 2),
      conversation('v3', 'ti_1', 4),
      conversation('v4', 'ti_1', 2, { orgId: 'org_2' }),
      conversation('v5', 'ti_1', 2, { state: { channelId: 'chan_2' } }),
    ]);
    const read = async (after: string) => {
      const of = { id: 'chan_1', orgId: 'org_1' };
      return (await opened.sweepStore.readConversations(of, after, at(3))).map(({ _id, key }) => [_id, key]);
    };
    const both = [
      ['v2', keyOf(2, 'v2')],
      ['v1', keyOf(3, 'v1')],
    ];
    expect(await read('')).toEqual(both);
    expect(await read(keyOf(2, 'v2'))).toEqual(both.slice(1));
  });

  it('messages by age, by conversation, and by the time they have waited', async () => {
    await given('message', [
      message('m1', 'v1', 1),
      message('m2', 'v1', 2, at(7)),
      message('m3', 'v2', 3, at(8)),
      { ...message('m4', 'v1', 1), orgId: 'org_2' },
    ]);
    const { sweepStore } = opened;
    expect(idsOf(await sweepStore.readExpiredMessages('org_1', ['v1', 'v2'], at(1)))).toEqual(['m1']);
    expect(idsOf(await sweepStore.readExpiredMessages('org_1', ['v1'], at(2)))).toEqual(['m1', 'm2']);
    expect(await sweepStore.readWithMessages('org_1', ['v1', 'v3'])).toEqual(new Set(['v1']));
    const orphans = await sweepStore.readOrphans(at(7));
    expect(orphans).toMatchObject([{ _id: 'm2', conversationId: 'v1' }]);
    await sweepStore.waitAgain(orphans, at(7), at(9));
    expect(await sweepStore.readOrphans(at(7))).toEqual([]);
    const later = await sweepStore.readOrphans(at(9));
    expect(later.map(({ _id, revision }) => [_id, revision]).sort()).toEqual([
      ['m2', 2],
      ['m3', 1],
    ]);
  });
});
