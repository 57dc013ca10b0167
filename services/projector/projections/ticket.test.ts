import { embeddedConversationsMax } from '../../../shared/documents/ticket.ts';
import { given, living } from '../../../tests/support/example-join.ts';

const channel = living('channel', { id: 'chan_1', dataRetentionDays: 30 });
const createdAt = (second: number) => new Date(second * 1_000).toISOString();
const conversation = (id: string, second = 0, changes: Record<string, unknown> = {}) =>
  living('conversation', {
    id,
    ticketId: 'ti_1',
    channelId: 'chan_1',
    createdAt: createdAt(second),
    updatedAt: '2026-01-02T00:00:00Z',
    ...changes,
  });

test('a ticket embeds its conversations in order of creation, each with the end of its retention', () => {
  const { joined, refs } = given(
    channel,
    conversation('conv_2', 2),
    conversation('conv_1', 1),
    conversation('conv_3', 3, { ticketId: 'ti_2' }),
  ).whenJoined('ticket');
  expect(joined).toMatchObject({
    conversations: [
      {
        id: 'conv_1',
        role: 'primary',
        status: 'archived',
        createdAt: new Date(1_000),
        updatedAt: new Date('2026-01-02T00:00:00Z'),
        retainUntil: new Date('2026-02-01T00:00:00Z'),
      },
      { id: 'conv_2' },
    ],
  });
  expect(refs).toEqual([
    'requester:con_1',
    'conversations:conv_1',
    'conversations:conv_2',
    'channels:chan_1',
  ]);
});

test('a ticket omits a conversation whose channel is missing, and still refers to both', () => {
  const { joined, refs } = given(conversation('conv_1')).whenJoined('ticket');
  expect(joined).toMatchObject({ conversations: [] });
  expect(refs).toEqual(['requester:con_1', 'conversations:conv_1', 'channels:chan_1']);
});

test('a ticket with more conversations than it embeds says after which one the others come', () => {
  const ids = Array.from({ length: embeddedConversationsMax + 1 }, (_, index) => `conv_${index}`);
  const { joined } = given(channel, ...ids.map((id, index) => conversation(id, index))).whenJoined('ticket');
  const last = embeddedConversationsMax - 1;
  expect(joined).toMatchObject({ moreAfter: `${createdAt(last)}conv_${last}` });
});
