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
const isHidden = (index: number) => index % 50 === 7 || index % 70 === 9;
const mixed = Array.from({ length: size }, (_, index) => {
  if (index % 50 === 7) {
    const expired = conversationOf('ti_1', index, { updatedAt: '2026-01-20T00:00:00Z' });
    return withJoined(expired, { channel: short });
  }
  const stored = conversationOf('ti_1', index);
  return withJoined(stored, { channel: index % 70 === 9 ? null : short });
});
const visible = mixed.filter((_, index) => !isHidden(index));

/** A ticket as the projector stores it for these conversations, given in order. */
function ticketOf(id: string, conversations: Stored[], fields: Record<string, unknown> = {}) {
  const first = conversations.slice(0, embeddedConversationsMax);
  const joined = build.ticketJoined({
    conversations: first.flatMap(({ state, joined: { channel } }) => embeddedConversation(state, channel)),
    moreAfter: conversations.length > first.length ? (first.at(-1)?.byCreated ?? null) : null,
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
const ticketIn = async (path: string, id: string) =>
  (listOf(await api.get(path)).data as Ticket[]).find((ticket) => ticket.id === id);

describe('a ticket with 1,000 conversations', () => {
  test('contains each visible conversation once and in order when a client retrieves it', async () => {
    const { conversations } = (await api.get('/v1/tickets/ti_1')).json() as Ticket;
    expect(conversations).toEqual(
      visible.map(({ state }) => ({
        id: state.id,
        object: 'conversation',
        ticketId: 'ti_1',
        role: state.role,
        status: state.status,
        createdAt: seconds(state.createdAt),
        updatedAt: seconds(state.updatedAt),
      })),
    );
  });

  test('refers to each visible conversation once and in order in a list', async () => {
    const ticket = await ticketIn('/v1/tickets?status=open&limit=100', 'ti_1');
    expect(ticket?.conversations).toEqual(referencesOf(visible));
  });

  test('contains a conversation once that moves behind the embedded conversations during the read', async () => {
    const moved = few[10];
    const collection = api.store.database.collection<{ _id: string }>(resources.conversation.collection);
    const byCreated = `2027-01-01T00:00:00.000Z${moved?._id}`;
    await collection.updateOne({ _id: moved?._id ?? '' }, { $set: { byCreated } });
    const { conversations } = (await api.get('/v1/tickets/ti_few')).json() as Ticket;
    expect(conversations.map(({ id }) => id)).toEqual(few.map(({ state }) => state.id));
  });
});

describe('a page of tickets with more than 20,000 conversations', () => {
  const page = (after: string | null) =>
    api.get(
      `/v1/tickets?status=closed&sort=createdAt&limit=100${after === null ? '' : `&startingAfter=${after}`}`,
    );

  test('ends after a complete ticket, and the next page continues after it', async () => {
    const first = listOf(await page(null));
    expect(first.data.map(({ id }) => id)).toEqual(['ti_few', 'ti_huge']);
    expect((first.data[1] as Ticket).conversations).toEqual(referencesOf(huge));
    expect(first.hasMore).toBe(true);
    const second = listOf(await page(first.nextCursor));
    expect(second).toMatchObject({ data: [{ id: 'ti_last' }], hasMore: false, nextCursor: null });
  });
});
