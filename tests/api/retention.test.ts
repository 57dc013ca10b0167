import * as build from './builders.ts';
import { errorOf, listOf, useApi } from './test-api.ts';

const days = 10;
const dayMs = 86_400_000;
const startMs = Date.parse(build.at);
/** The instant this many days after the first creation, plus an offset in milliseconds. */
const day = (count: number, offsetMs = 0) => new Date(startMs + count * dayMs + offsetMs);
const channel = { id: 'chan_1', name: 'Support', type: 'email', dataRetentionDays: days } as const;
const inChannel = { joined: build.conversationJoined({ channel }) };

const clock = { now: day(0) };
/** A thread of six messages, one per day, two of them at the same instant. */
const messages = [0, 1, 2, 2, 3, 4].map((after, index) =>
  build.message({ id: `msg_${index}`, createdAt: day(after).toISOString(), content: `text ${index}` }),
);
const ids = messages.map(({ _id }) => _id);

const updatedAt = day(20).toISOString();
const expiresAt = day(20 + days);
const { role, status, createdAt } = build.conversation({ id: 'conv_1' }).state;
const joined = build.ticketJoined({
  conversations: [{ id: 'conv_1', role, status, createdAt, updatedAt: day(20), retainUntil: expiresAt }],
  moreAfter: `${createdAt.toISOString()}conv_1`,
});
const api = useApi(
  {
    ticket: [build.ticket({ id: 'ti_1' }, { joined })],
    conversation: [
      build.conversation({ id: 'conv_1', updatedAt }, inChannel),
      build.conversation({ id: 'conv_rest', createdAt: updatedAt, updatedAt }, inChannel),
    ],
    message: messages,
  },
  { now: () => clock.now },
);

type Thread = { lastMessagePreview: string | null; messages: { id: string }[] };

async function shownAt(now: Date) {
  clock.now = now;
  const retrieved = await api.get('/v1/conversations/conv_1');
  const conversation = retrieved.json() as Thread;
  const list = listOf(await api.get('/v1/conversations/conv_1/messages'));
  return {
    preview: conversation.lastMessagePreview,
    embedded: conversation.messages.map(({ id }) => id),
    listed: list.data.map(({ id }) => id),
  };
}

describe('a message', () => {
  test.each([
    { name: 'a millisecond before the first expires', now: day(days, -1), expired: 0 },
    { name: 'at the instant at which the first expires', now: day(days), expired: 1 },
    { name: 'at the instant at which two expire at once', now: day(days + 2), expired: 4 },
    {
      name: 'once all have expired, while their conversation is still served',
      now: day(days + 4),
      expired: 6,
    },
  ])('is shown until its retention passes: $name', async ({ now, expired }) => {
    const unexpired = ids.slice(expired);
    const preview = unexpired.length > 0 ? `text ${expired}` : null;
    expect(await shownAt(now)).toEqual({ preview, embedded: unexpired, listed: unexpired });
  });
});

describe('a client that starts paging before messages expire', () => {
  const page = async (now: Date, after: string | null) => {
    clock.now = now;
    const cursor = after === null ? '' : `&startingAfter=${after}`;
    const list = listOf(await api.get(`/v1/conversations/conv_1/messages?limit=2${cursor}`));
    return { ids: list.data.map(({ id }) => id), hasMore: list.hasMore, nextCursor: list.nextCursor };
  };

  test.each([
    {
      name: 'continues after its cursor while that message has not expired',
      now: day(days),
      expected: ['msg_2', 'msg_3'],
      hasMore: true,
    },
    {
      name: 'continues with the first unexpired message',
      now: day(days + 2),
      expected: ['msg_4', 'msg_5'],
      hasMore: false,
    },
    {
      name: 'ends with an empty page if everything after its cursor has expired',
      now: day(days + 4),
      expected: [],
      hasMore: false,
    },
  ])('$name', async ({ now, expected, hasMore }) => {
    const first = await page(day(days, -1), null);
    expect(first.ids).toEqual(['msg_0', 'msg_1']);
    const nextCursor = hasMore ? (expect.any(String) as string) : null;
    expect(await page(now, first.nextCursor)).toEqual({ ids: expected, hasMore, nextCursor });
  });
});

describe('a conversation', () => {
  const paths = ['/v1/conversations/conv_1', '/v1/conversations/conv_1/messages'];
  const shownByTicket = async () => {
    type Ticket = { conversations: { id: string }[] };
    const retrieved = (await api.get('/v1/tickets/ti_1')).json() as Ticket;
    const listed = listOf(await api.get('/v1/tickets')).data[0] as unknown as Ticket;
    return [retrieved, listed].map(({ conversations }) => conversations.map(({ id }) => id));
  };

  test('is served until the time at which it expires', async () => {
    clock.now = new Date(expiresAt.getTime() - 1);
    for (const path of paths) expect((await api.get(path)).status).toBe(200);
    clock.now = expiresAt;
    for (const path of paths) {
      const answer = await api.get(path);
      expect(answer.status).toBe(404);
      expect(errorOf(answer).code).toBe('conversation_not_found');
    }
  });

  test('is in its ticket until the time at which it expires', async () => {
    clock.now = new Date(expiresAt.getTime() - 1);
    expect(await shownByTicket()).toEqual([
      ['conv_1', 'conv_rest'],
      ['conv_1', 'conv_rest'],
    ]);
    clock.now = expiresAt;
    expect(await shownByTicket()).toEqual([[], []]);
  });
});
