import * as given from '../../../tests/api/builders.ts';
import { presentChannel } from './channels/presenter.ts';
import { channelSchema } from './channels/schema.ts';
import { presentConversationHead, presentEmbeddedMessage } from './conversations/presenter.ts';
import type { VisibleConversation } from './conversations/query.ts';
import { presentMessageItem } from './messages/presenter.ts';
import { presentTicket, presentTicketItem } from './tickets/presenter.ts';

const now = new Date('2026-01-01T13:00:00Z');
const shown = (state: ReturnType<typeof given.channel>) =>
  channelSchema.parse(presentChannel(state, { now, brand: 'acme' }));
const inbox = (block: Record<string, unknown>) =>
  shown(given.channel({ id: 'chan_1', type: 'email', email: { ...given.emailBlock, ...block } })).config;

describe('a ticket', () => {
  it('shows seconds, cut off, and a requester that is missing as nulls', () => {
    const joined = given.ticketJoined({ requester: null });
    const item = presentTicketItem(
      given.ticket({ id: 'ti_1', updatedAt: '2026-01-01T12:00:00.999Z' }, { joined }),
      now,
    );
    expect(item).toMatchObject({
      updatedAt: '2026-01-01T12:00:00Z',
      requester: { id: 'con_1', name: null, email: null },
    });
    expect(item.conversations).toEqual([{ id: 'conv_1', role: 'primary' }]);
  });

  it('retrieved shows its conversations in full, archived ones too', () => {
    expect(presentTicket(given.ticket({ id: 'ti_1' }), now).conversations).toEqual([
      {
        id: 'conv_1',
        object: 'conversation',
        ticketId: 'ti_1',
        role: 'primary',
        status: 'archived',
        createdAt: '2026-01-01T12:00:00Z',
        updatedAt: '2026-01-01T12:00:00Z',
      },
    ]);
  });
});

describe('a conversation', () => {
  it('shows its contact under ct_, and what is missing as null', () => {
    const joined = given.conversationJoined({ contact: null, assignedUser: null });
    const stored = given.conversation(
      { id: 'conv_1', contactId: 'con_con_7' },
      { joined },
    ) as VisibleConversation;
    expect(presentConversationHead(stored, 'resolved', undefined)).toMatchObject({
      status: 'resolved',
      contact: { id: 'ct_con_7', name: null, email: null },
      assignedToUser: null,
      lastMessagePreview: null,
      waitingSince: '2026-01-01T12:00:00Z',
      resolvedAt: null,
    });
  });
});

it.each([
  ['email', 'email'],
  ['chatbot', 'widget'],
  ['form', 'form'],
] as const)('a conversation on a channel of type %s shows %s', (type, shownType) => {
  const channel = { id: 'chan_1', name: 'Support', type, dataRetentionDays: null };
  const joined = given.conversationJoined({ channel });
  const stored = given.conversation({ id: 'conv_1' }, { joined }) as VisibleConversation;
  expect(presentConversationHead(stored, 'resolved', undefined).channel.type).toBe(shownType);
});

describe('a message', () => {
  it('leaves inline files out, and says when it was sent only inside a conversation', () => {
    const stored = given.message({ id: 'msg_1', role: 'human', sentAt: '2026-01-01T12:00:05.5Z' });
    expect(presentMessageItem(stored)).not.toHaveProperty('sentAt');
    expect(presentMessageItem(stored).attachments).toEqual([{ id: 'att_1', filename: 'photo.png' }]);
    expect(presentEmbeddedMessage(stored.state)).toMatchObject({
      sentAt: '2026-01-01T12:00:05Z',
      attachments: [{ id: 'att_1', filename: 'photo.png' }],
    });
  });

  it('that is inbound has no delivery time, whatever the bus says', () => {
    const { state } = given.message({ id: 'msg_1', role: 'user', sentAt: '2026-01-01T12:00:05Z' });
    expect(presentEmbeddedMessage(state).sentAt).toBeNull();
  });

  it.each([
    [
      'a known contact',
      { type: 'contact', id: 'con_1' },
      { name: 'Ada', email: 'a@b.c' },
      { name: 'Ada', email: 'a@b.c' },
    ],
    ['a missing teammate', { type: 'user', id: 'user_1' }, null, { name: null, email: null }],
    [
      'an AI agent',
      { type: 'ai_agent', id: 'agent_1' },
      { name: 'Bot', email: 'x@y.z' },
      { name: 'Bot', email: null },
    ],
  ])('shows %s as far as it may', (_, author, joined, expected) => {
    const stored = given.message({ id: 'msg_1', author }, { joined: { author: joined } });
    expect(presentMessageItem(stored).author).toEqual({ ...author, ...expected });
  });

  it('of the system has no author', () => {
    const stored = given.message({ id: 'msg_1', role: 'system' }, { joined: { author: null } });
    expect(presentMessageItem(stored).author).toBeNull();
  });
});

describe('a channel', () => {
  const connection = { status: 'connected', lastSyncedAt: given.at, connectedAt: given.at };

  it('shows the brand for the own domain, of forwarding inboxes only', () => {
    expect(inbox({})).toMatchObject({ sendingDomain: 'acme', connection: null });
    expect(inbox({ provider: 'google', connection })).toMatchObject({ sendingDomain: null });
    expect(inbox({ connection })).toMatchObject({ connection: null });
  });

  it('shows the last complete read of microsoft mailboxes only', () => {
    expect(inbox({ provider: 'microsoft', connection })).toMatchObject({
      connection: { status: 'connected', lastSyncedAt: given.at },
    });
    expect(inbox({ provider: 'google', connection })).toMatchObject({
      connection: { status: 'connected', lastSyncedAt: null },
    });
  });

  it('shows eagerness only where the AI answers first', () => {
    const chatbot = { ...given.chatbotBlock, routing: { ...given.chatbotBlock.routing, entry: 'disabled' } };
    const routing = (block: unknown) =>
      (shown(given.channel({ id: 'chan_1', type: 'chatbot', chatbot: block })).config as { routing: object })
        .routing;
    expect(routing(given.chatbotBlock)).toMatchObject({
      eagerness: 'neutral',
      escalation: { fallback: null },
    });
    expect(routing(chatbot)).not.toHaveProperty('eagerness');
  });

  it('leaves out of autoResolve what the default decides', () => {
    const stored = given.channel({ id: 'chan_1' });
    expect(shown(stored).settings.autoResolve).toEqual({});
    stored.state.settings.autoResolve = { enabled: false, afterHours: 0 };
    expect(shown(stored).settings.autoResolve).toEqual({ enabled: false, afterHours: 0 });
  });

  it('never shows a secret that a document should not have held', () => {
    const stored = given.channel({ id: 'chan_1', type: 'chatbot' });
    Object.assign(stored.state.config, {
      identitySecret: 'hush',
      routing: { ...given.chatbotBlock.routing, escalation: {}, hush: 'hush' },
    });
    expect(JSON.stringify(presentChannel(stored, { now, brand: 'acme' }))).not.toContain('hush');
  });
});
