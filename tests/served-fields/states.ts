import type { z } from 'zod';
import { idPrefixOf } from '../../infra/sample-data/entity.ts';
import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { distinctState } from './distinct-state.ts';

type State = Record<string, unknown>;
type Named = { kind: Kind; state: State & { id: string } };

const [email, chatbot, form] = (resources.channel.state as unknown as { options: unknown }).options as [
  z.ZodType,
  z.ZodType,
  z.ZodType,
];
const channelStates = { email, chatbot, form };
export const channelTypes = ['email', 'chatbot', 'form'] as const;
type ChannelType = (typeof channelTypes)[number];

const authors = [
  { type: 'contact', kind: 'contact', prefix: 'con' },
  { type: 'user', kind: 'user', prefix: 'user' },
  { type: 'ai_agent', kind: 'agent', prefix: 'agent' },
] as const;

/** Kinds whose states `named` lists below, and API keys, which no response shows. */
const withoutDefault = new Set<Kind>(['tag', 'topic', 'channel', 'message', 'apiKey']);

/**
 * States of one variant by name, with every field set. They refer only to states of the same variant, so the response
 * of one shows the others. A kind without a name below has one state, which follows from its schema.
 */
export function statesOf(variant: number) {
  const id = (name: string) => `${name}_${variant}`;
  const of = (
    kind: Kind,
    name: string,
    fixed: State = {},
    schema: z.ZodType = resources[kind].state,
  ): Named => ({ kind, state: { ...distinctState(schema, name, variant), ...fixed, id: id(name) } });
  const rotate = <T>(values: readonly T[]): T => values[variant % values.length] as T;
  const author = rotate(authors);
  /** `hour` orders the messages of the conversation, which shows them by their instants. */
  const message = (name: string, role: string, hour: number) =>
    of('message', name, {
      role,
      createdAt: new Date(Date.UTC(2026, 0, 1, hour, 0, variant, 456)).toISOString(),
      conversationId: id('conv_a'),
      author: { type: author.type, id: id(`${author.prefix}_a`) },
      attachments: ['x', 'y'].map((file) => ({ id: `${name}.${file}`, filename: file, inline: false })),
    });
  const channel = (type: ChannelType) =>
    of('channel', `chan_${type}`, { type, agentId: id('agent_a'), archivedAt: null }, channelStates[type]);
  const labels = { tagIds: [id('tag_a'), id('tag_b')], topicIds: [id('topic_a'), id('topic_b')] };
  const type = rotate(channelTypes);
  const conversation = of('conversation', 'conv_a', {
    ...labels,
    ticketId: id('ti_a'),
    channelId: id(`chan_${type}`),
    contactId: id('con_a'),
    assignedUserId: id('user_a'),
  });
  // An archived conversation is not shown.
  if (conversation.state.status === 'archived') conversation.state.status = 'spam';
  const target = channel('form');
  (target.state.form as State).routesToChannelId = id('chan_email');
  const named = {
    'tags.0': of('tag', 'tag_a'),
    'tags.1': of('tag', 'tag_b'),
    'topics.0': of('topic', 'topic_a'),
    'topics.1': of('topic', 'topic_b'),
    email: channel('email'),
    chatbot: channel('chatbot'),
    form: target,
    qa: of('qa', 'qa_a', { agentId: id('agent_a') }),
    ticket: of('ticket', 'ti_a', { ...labels, requesterId: id('con_a') }),
    conversation,
    'messages.0': message('msg_a', 'user', 1),
    'messages.1': message('msg_b', rotate(['assistant', 'human']), 2),
  };
  const others = kinds
    .filter((kind) => !withoutDefault.has(kind) && !(kind in named))
    .map((kind) => [kind, of(kind, `${idPrefixOf(kind)}a`)] as const);
  const states = { ...Object.fromEntries(others), ...named };
  return { states: states as typeof named & Record<Kind, Named>, author: author.kind, channel: type };
}

export type Variant = ReturnType<typeof statesOf>;
export type Name = keyof Variant['states'];

/** The value at a path of a state, such as `email.verified`; throws if the state does not have it. */
export const at = ({ states }: Variant, name: Name, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => {
    if (typeof value === 'object' && value !== null && key in value) return (value as State)[key];
    throw new Error(
      `the state of ${name} has no ${path}: name the source of the response's field in sources.ts`,
    );
  }, states[name].state);
