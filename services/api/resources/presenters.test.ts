import * as build from '../../../tests/api/builders.ts';
import { presentChannel } from './channels/presenter.ts';
import { channelSchema } from './channels/schema.ts';
import {
  presentConversationHead,
  presentEmbeddedMessage,
  type VisibleConversation,
} from './conversations/presenter.ts';
import { presentMessageItem } from './messages.ts';
import { presentTicketItem } from './tickets/presenter.ts';

const now = new Date('2026-01-01T13:00:00Z');
const presentForBrand = (state: ReturnType<typeof build.channel>) =>
  channelSchema.parse(presentChannel(state, { now, brand: 'acme' }));

describe('a ticket', () => {
  it('has times truncated to seconds, and nulls for a missing requester', () => {
    const joined = build.ticketJoined({ requester: null });
    const item = presentTicketItem(
      build.ticket({ id: 'ti_1', updatedAt: '2026-01-01T12:00:00.999Z' }, { joined }),
      now,
    );
    expect(item).toMatchObject({
      updatedAt: '2026-01-01T12:00:00Z',
      requester: { id: 'con_1', name: null, email: null },
    });
    expect(item.conversations).toEqual([{ id: 'conv_1', role: 'primary' }]);
  });

  it('shows the update time by which it is filtered: never one before its creation', () => {
    const stored = build.ticket({ id: 'ti_1', updatedAt: '2025-12-31T12:00:00Z' });
    expect(presentTicketItem(stored, now).updatedAt).toBe('2026-01-01T12:00:00Z');
    expect(stored.byUpdated).toContain('2026-01-01T12:00:00.000Z');
  });
});

it('a conversation has its contact under ct_, and null for missing data', () => {
  const joined = build.conversationJoined({ contact: null, assignedUser: null });
  const stored = build.conversation({ id: 'conv_1', contactId: 'con_con_7' }, { joined });
  expect(presentConversationHead(stored as VisibleConversation, 'resolved', undefined)).toMatchObject({
    status: 'resolved',
    contact: { id: 'ct_con_7', name: null, email: null },
    assignedToUser: null,
    waitingSince: '2026-01-01T12:00:00Z',
    resolvedAt: null,
  });
});

it.each([
  ['is null without messages', undefined, null],
  ['is null if the opening message has no text', { content: null }, null],
  ['is the text of the opening message, even an empty one', { content: '' }, ''],
  ['is its beginning, if it is long', { content: 'a'.repeat(201) }, `${'a'.repeat(200)}…`],
])('the preview of a conversation %s', (_, opening, expected) => {
  const stored = build.conversation({ id: 'conv_1' }) as VisibleConversation;
  expect(presentConversationHead(stored, 'resolved', opening).lastMessagePreview).toBe(expected);
});

describe('a message', () => {
  it('omits inline files, and has sentAt only inside a conversation', () => {
    const stored = build.message({ id: 'msg_1', role: 'human', sentAt: '2026-01-01T12:00:05.5Z' });
    expect(presentMessageItem(stored)).not.toHaveProperty('sentAt');
    expect(presentMessageItem(stored).attachments).toEqual([{ id: 'att_1', filename: 'photo.png' }]);
    expect(presentEmbeddedMessage(stored.state)).toMatchObject({
      sentAt: '2026-01-01T12:00:05Z',
      attachments: [{ id: 'att_1', filename: 'photo.png' }],
    });
  });

  it('has no delivery time if it is inbound, whatever the event says', () => {
    const { state } = build.message({ id: 'msg_1', role: 'user', sentAt: '2026-01-01T12:00:05Z' });
    expect(presentEmbeddedMessage(state).sentAt).toBeNull();
  });

  it('keeps the type and the id of an author that is missing', () => {
    const author = { type: 'user', id: 'user_1' };
    const stored = build.message({ id: 'msg_1', author }, { joined: { author: null } });
    expect(presentMessageItem(stored).author).toEqual({ ...author, name: null, email: null });
  });

  it('has no author if it is a system message', () => {
    const stored = build.message({ id: 'msg_1', role: 'system' }, { joined: { author: null } });
    expect(presentMessageItem(stored).author).toBeNull();
  });
});

describe('a channel', () => {
  it('has eagerness only if the AI answers first', () => {
    const chatbot = { ...build.chatbotBlock, routing: { ...build.chatbotBlock.routing, entry: 'disabled' } };
    const routing = (block: unknown) =>
      (
        presentForBrand(build.channel({ id: 'chan_1', type: 'chatbot', chatbot: block })).config as {
          routing: object;
        }
      ).routing;
    expect(routing(build.chatbotBlock)).toMatchObject({
      eagerness: 'neutral',
      escalation: { fallback: null },
    });
    expect(routing(chatbot)).not.toHaveProperty('eagerness');
  });

  it('omits the members of autoResolve that the default decides', () => {
    const stored = build.channel({ id: 'chan_1' });
    expect(presentForBrand(stored).settings.autoResolve).toEqual({});
    stored.state.settings.autoResolve = { enabled: false, afterHours: 0 };
    expect(presentForBrand(stored).settings.autoResolve).toEqual({ enabled: false, afterHours: 0 });
  });

  it('never contains a secret, even if the stored document does', () => {
    const stored = build.channel({ id: 'chan_1', type: 'chatbot' });
    Object.assign(stored.state.config, {
      identitySecret: 'hush',
      routing: { ...build.chatbotBlock.routing, escalation: {}, hush: 'hush' },
    });
    expect(JSON.stringify(presentChannel(stored, { now, brand: 'acme' }))).not.toContain('hush');
  });
});
