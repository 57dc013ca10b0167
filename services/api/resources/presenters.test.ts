import { exampleConfig } from '../../../shared/documents/channel-config.ts';
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
  test('has nulls for a missing requester', () => {
    const joined = build.ticketJoined({ requester: null });
    const { requester } = presentTicketItem(build.ticket({ id: 'ti_1' }, { joined }), now);
    expect(requester).toEqual({ id: 'con_1', name: null, email: null });
  });

  test('never shows an update time before its creation', () => {
    const stored = build.ticket({ id: 'ti_1', updatedAt: '2025-12-31T12:00:00Z' });
    expect(presentTicketItem(stored, now).updatedAt).toBe('2026-01-01T12:00:00Z');
    expect(stored.byUpdated).toContain('2026-01-01T12:00:00.000Z');
  });
});

test('a conversation has its contact under ct_, and null for missing data', () => {
  const joined = build.conversationJoined({ contact: null, assignedUser: null });
  const stored = build.conversation({ id: 'conv_1', contactId: 'con_con_7' }, { joined });
  expect(presentConversationHead(stored as VisibleConversation, 'resolved', undefined)).toMatchObject({
    status: 'resolved',
    contact: { id: 'ct_con_7', name: null, email: null },
    assignedToUser: null,
    resolvedAt: null,
  });
});

test.each([
  { name: 'is null without messages', opening: undefined, expected: null },
  { name: 'is null if the opening message has no text', opening: { content: null }, expected: null },
  { name: 'is the text of the opening message, even an empty one', opening: { content: '' }, expected: '' },
])('the preview of a conversation $name', ({ opening, expected }) => {
  const stored = build.conversation({ id: 'conv_1' }) as VisibleConversation;
  expect(presentConversationHead(stored, 'resolved', opening).lastMessagePreview).toBe(expected);
});

describe('a message', () => {
  test('omits inline files', () => {
    const { state } = build.message({ id: 'msg_1' });
    expect(presentEmbeddedMessage(state).attachments).toEqual([{ id: 'att_1', filename: 'photo.png' }]);
  });

  test('keeps the type and the id of an author that is missing', () => {
    const author = { type: 'user', id: 'user_1' };
    const stored = build.message({ id: 'msg_1', author }, { joined: { author: null } });
    expect(presentMessageItem(stored).author).toEqual({ ...author, name: null, email: null });
  });

  test('has no author as a system message', () => {
    const stored = build.message({ id: 'msg_1', role: 'system' }, { joined: { author: null } });
    expect(presentMessageItem(stored).author).toBeNull();
  });
});

describe('a channel', () => {
  test('has eagerness only if the AI answers first', () => {
    const withDisabledEntry = {
      ...exampleConfig.chatbot,
      routing: { ...exampleConfig.chatbot.routing, entry: 'disabled' },
    };
    const routing = (block: unknown) => {
      const presented = presentForBrand(build.channel({ id: 'chan_1', type: 'chatbot', chatbot: block }));
      return (presented.config as { routing: object }).routing;
    };
    expect(routing(exampleConfig.chatbot)).toMatchObject({
      eagerness: 'neutral',
      escalation: { fallback: null },
    });
    expect(routing(withDisabledEntry)).not.toHaveProperty('eagerness');
  });

  test('omits the members of autoResolve that the default decides', () => {
    const stored = build.channel({ id: 'chan_1' });
    expect(presentForBrand(stored).settings.autoResolve).toEqual({});
    stored.state.settings.autoResolve = { enabled: false, afterHours: 0 };
    expect(presentForBrand(stored).settings.autoResolve).toEqual({ enabled: false, afterHours: 0 });
  });

  test('never contains a secret of the stored document', () => {
    const stored = build.channel({ id: 'chan_1', type: 'chatbot' });
    Object.assign(stored.state.config, {
      identitySecret: 'hush',
      routing: { ...exampleConfig.chatbot.routing, escalation: {}, hush: 'hush' },
    });
    expect(JSON.stringify(presentChannel(stored, { now, brand: 'acme' }))).not.toContain('hush');
  });
});

/** A document as an older release stored it, without the fields that are null. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map((element) => withoutNulls<unknown>(element)) as T;
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (inner !== null) kept[name] = withoutNulls<unknown>(inner);
  }
  return kept as T;
}

const { email, chatbot, form } = exampleConfig;
const withNulls = {
  email: {
    ...email,
    replyTo: null,
    description: null,
    autoReply: null,
    liveAt: null,
    signatures: { ...email.signatures, human: null, ai: null },
  },
  chatbot: {
    ...chatbot,
    routing: { ...chatbot.routing, eagerness: null, escalation: { primary: null, fallback: null } },
  },
  form: { ...form, description: null, redirectUrl: null, routesToChannelId: null },
};
const conversation = build.conversation({ id: 'conv_1', assignedUserId: null, urgencyScore: null });
const unassigned = build.conversationJoined({ assignedUser: null, contact: null });
const withNullNames = build.conversationJoined({
  assignedUser: { id: 'user_1', name: null, email: 'sam@example.com' },
  topics: [{ id: 'topic_1', name: 'Billing', color: null }],
});
const channelWithNulls = (block: object) =>
  build.channel({ id: 'chan_1', dataRetentionDays: null, agentId: null, ...block });

describe('a document without the fields that are null reads the same:', () => {
  function expectSame<Stored>(complete: Stored, present: (stored: Stored) => object) {
    const stored = withoutNulls(complete);
    expect(stored).not.toEqual(complete);
    expect(present(stored)).toEqual(present(complete));
  }

  test('a ticket', () => {
    const ticket = build.ticket({ id: 'ti_1', estimatedScore: null });
    expectSame(ticket, (stored) => presentTicketItem(stored, now));
  });

  test.each([
    ['an unassigned conversation', unassigned],
    ['a conversation whose user and topic lack a name and a color', withNullNames],
  ])('%s', (_, joined) => {
    expectSame({ ...conversation, joined }, (stored) =>
      presentConversationHead(stored as VisibleConversation, 'resolved', undefined),
    );
  });

  test('a message', () => {
    expectSame(build.message({ id: 'msg_1', content: null }), presentMessageItem);
  });

  test('an email channel', () => {
    expectSame(channelWithNulls({ type: 'email', email: withNulls.email }), presentForBrand);
  });

  test('a chatbot', () => {
    expectSame(channelWithNulls({ type: 'chatbot', chatbot: withNulls.chatbot }), presentForBrand);
  });

  test('a form', () => {
    expectSame(channelWithNulls({ type: 'form', form: withNulls.form }), presentForBrand);
  });
});
