import { resources } from '../../shared/documents/resources.ts';
import { embeddedConversationsMax } from '../../shared/documents/ticket.ts';
import { embeddedConversation } from '../../shared/documents/visibility.ts';
import * as build from './builders.ts';
import { listOf, useApi } from './test-api.ts';

const size = 1_000;
const now = new Date('2026-03-01T00:00:00.000Z');
const short = { id: 'chan_2', name: 'Short', type: 'email', dataRetentionDays: 30 } as const;

type Stored = ReturnType<typeof build.conversation>;

/** A conversation of a ticket. Each three in succession share an instant, so their ids decide the order. */
const conversationOf = (ticketId: string, index: number, fields: Record<string, unknown> = {}): Stored => {
  const id = `conv_${ticketId}_${String(index).padStart(5, '0')}`;
  const createdAt = new Date(Date.parse(build.at) + Math.floor(index / 3) * 1_000).toISOString();
  const role = index === 0 ? 'primary' : 'side';
  const updatedAt = now.toISOString();
  return build.conversation({ id, ticketId, role, createdAt, updatedAt, ...fields });
};

const withJoined = (stored: Stored, joined: Parameters<typeof build.conversationJoined>[0]): Stored => ({
  ...stored,
  joined: build.conversationJoined(joined),
});

/** Some conversations have expired, and some have no channel yet. Both kinds are embedded and not embedded. */
const isExpired = (index: number) => index % 50 === 7;
const lacksChannel = (index: number) => index % 70 === 9 && !isExpired(index);
const mixed = Array.from({ length: size }, (_, index) => {
  const fields = isExpired(index) ? { updatedAt: '2026-01-20T00:00:00Z' } : {};
  const channel = lacksChannel(index) ? null : short;
  return withJoined(conversationOf('ti_1', index, fields), { channel });
});
const visible = mixed.filter((_, index) => !isExpired(index) && !lacksChannel(index));

/** A ticket as the projector stores it for these conversations, given in order. */
function ticketOf(id: string, conversations: Stored[], fields: Record<string, unknown> = {}) {
  const first = conversations.slice(0, embeddedConversationsMax);
  const last = conversations.length > first.length ? first.at(-1) : undefined;
  const joined = build.ticketJoined({
    conversations: first.flatMap(({ state, joined: { channel } }) => embeddedConversation(state, channel)),
    moreAfter: last?.byCreated ?? null,
  });
  return build.ticket({ id, ...fields }, { joined });
}

const huge = Array.from({ length: 20_200 }, (_, index) => conversationOf('ti_huge', index));
const few = Array.from({ length: 201 }, (_, index) => conversationOf('ti_few', index));
const closed = { status: 'closed' };

const tickets = [
  ticketOf('ti_1', mixed),
  build.ticket({ id: 'ti_small' }),
  ticketOf('ti_few', few, { ...closed, createdAt: '2026-01-02T00:00:01Z' }),
  ticketOf('ti_huge', huge, { ...closed, createdAt: '2026-01-02T00:00:02Z' }),
  build.ticket({ id: 'ti_last', ...closed, createdAt: '2026-01-02T00:00:03Z' }),
];
const api = useApi({ ticket: tickets, conversation: [...mixed, ...few, ...huge] }, { now: () => now });

type Conversation = { id: string; role: string };
type Ticket = { id: string; conversations: Conversation[] };

const seconds = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;
const referencesOf = (conversations: Stored[]) =>
  conversations.map(({ state: { id, role } }) => ({ id, role }));
const retrieve = async (id: string) => (await api.get(`/v1/tickets/${id}`)).json() as Ticket;

describe('a ticket with 1,000 conversations', () => {
  test('contains each visible conversation once and in order when a client retrieves it', async () => {
    const { conversations } = await retrieve('ti_1');
    const expected = visible.map(({ state }) => ({
      id: state.id,
      object: 'conversation',
      ticketId: 'ti_1',
      role: state.role,
      status: state.status,
      createdAt: seconds(state.createdAt),
      updatedAt: seconds(state.updatedAt),
    }));
    expect(conversations).toEqual(expected);
  });

  test('refers to each visible conversation once and in order in a list', async () => {
    const { data } = listOf(await api.get('/v1/tickets?status=open&limit=100'));
    const ticket = (data as Ticket[]).find(({ id }) => id === 'ti_1');
    expect(ticket?.conversations).toEqual(referencesOf(visible));
  });

  test('contains a conversation once that moves behind the embedded conversations during the read', async () => {
    const movedId = few[10]?._id ?? '';
    const collection = api.store.database.collection<{ _id: string }>(resources.conversation.collection);
    const byCreated = `2027-01-01T00:00:00.000Z${movedId}`;
    const { matchedCount } = await collection.updateOne({ _id: movedId }, { $set: { byCreated } });
    expect(matchedCount).toBe(1);
    const { conversations } = await retrieve('ti_few');
    expect(conversations.map(({ id }) => id)).toEqual(few.map(({ state }) => state.id));
  });
});

describe('a page of tickets with more than 20,000 conversations', () => {
  const path = '/v1/tickets?status=closed&sort=createdAt&limit=100';

  test('ends after a complete ticket, and the next page continues after it', async () => {
    const first = listOf(await api.get(path));
    expect(first.data.map(({ id }) => id)).toEqual(['ti_few', 'ti_huge']);
    expect((first.data[1] as Ticket).conversations).toEqual(referencesOf(huge));
    expect(first.hasMore).toBe(true);
    const second = listOf(await api.get(`${path}&startingAfter=${first.nextCursor}`));
    expect(second).toMatchObject({ data: [{ id: 'ti_last' }], hasMore: false, nextCursor: null });
  });
});
