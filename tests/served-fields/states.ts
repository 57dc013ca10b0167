import type { z } from 'zod';
import { idPrefixOf } from '../../infra/sample-data/entity.ts';
import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { distinctState } from './distinct-state.ts';

type State = Record<string, unknown>;
type Named = { kind: Kind; state: State & { id: string } };

type ChannelUnion = { options: [email: z.ZodType, chatbot: z.ZodType, form: z.ZodType] };
const [email, chatbot, form] = (resources.channel.state as unknown as ChannelUnion).options;
const channelStates = { email, chatbot, form };
export const channelTypes = ['email', 'chatbot', 'form'] as const;
type ChannelType = (typeof channelTypes)[number];

const authors = [
  { type: 'contact', kind: 'contact', prefix: 'con' },
  { type: 'user', kind: 'user', prefix: 'user' },
  { type: 'ai_agent', kind: 'agent', prefix: 'agent' },
] as const;

/** Kinds without a default state: those whose states have names below, and API keys, which no response shows. */
const kindsWithoutDefault = new Set<Kind>(['tag', 'topic', 'channel', 'message', 'apiKey']);

/**
 * Makes the states of one variant by name, with every field set. The states refer only to states of the same variant,
 * so that each appears in the responses of the others. A kind without a name here has one state by its schema.
 */
export function statesOf(variant: number) {
  const id = (name: string) => `${name}_${variant}`;
  const namedState = (
    kind: Kind,
    name: string,
    fixed: State = {},
    schema: z.ZodType = resources[kind].state,
  ): Named => ({ kind, state: { ...distinctState(schema, name, variant), ...fixed, id: id(name) } });
  const rotate = <T>(values: readonly T[]): T => values[variant % values.length] as T;
  const author = rotate(authors);
  /** The conversation shows its messages in the order of their hours. */
  const message = (name: string, role: string, hour: number) =>
    namedState('message', name, {
      role,
      createdAt: new Date(Date.UTC(2026, 0, 1, hour, 0, variant, 456)).toISOString(),
      conversationId: id('conv_a'),
      author: { type: author.type, id: id(`${author.prefix}_a`) },
      attachments: ['x', 'y'].map((file) => ({ id: `${name}.${file}`, filename: file, inline: false })),
    });
  const channel = (type: ChannelType) => {
    const fixed = { type, agentId: id('agent_a'), archivedAt: null };
    return namedState('channel', `chan_${type}`, fixed, channelStates[type]);
  };
  const labels = { tagIds: [id('tag_a'), id('tag_b')], topicIds: [id('topic_a'), id('topic_b')] };
  const type = rotate(channelTypes);
  const conversation = namedState('conversation', 'conv_a', {
    ...labels,
    ticketId: id('ti_a'),
    channelId: id(`chan_${type}`),
    contactId: id('con_a'),
    assignedUserId: id('user_a'),
  });
  // The API does not show an archived conversation.
  if (conversation.state.status === 'archived') conversation.state.status = 'spam';
  const formChannel = channel('form');
  (formChannel.state.form as State).routesToChannelId = id('chan_email');
  const named = {
    'tags.0': namedState('tag', 'tag_a'),
    'tags.1': namedState('tag', 'tag_b'),
    'topics.0': namedState('topic', 'topic_a'),
    'topics.1': namedState('topic', 'topic_b'),
    email: channel('email'),
    chatbot: channel('chatbot'),
    form: formChannel,
    qa: namedState('qa', 'qa_a', { agentId: id('agent_a') }),
    ticket: namedState('ticket', 'ti_a', { ...labels, requesterId: id('con_a') }),
    conversation,
    'messages.0': message('msg_a', 'user', 1),
    'messages.1': message('msg_b', rotate(['assistant', 'human']), 2),
  };
  const states: Record<string, Named> = { ...named };
  for (const kind of kinds) {
    const hasDefault = !kindsWithoutDefault.has(kind) && !(kind in named);
    if (hasDefault) states[kind] = namedState(kind, `${idPrefixOf(kind)}a`);
  }
  return { states: states as typeof named & Record<Kind, Named>, author: author.kind, channel: type };
}

export type Variant = ReturnType<typeof statesOf>;
export type Name = keyof Variant['states'];

/** Returns the value at a path of a state, such as `email.verified`. Throws if the state has no such path. */
export function at({ states }: Variant, name: Name, path: string): unknown {
  let value: unknown = states[name].state;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !(key in value))
      throw new Error(
        `the state of ${name} has no ${path}: name the source of the response's field in sources.ts`,
      );
    value = (value as State)[key];
  }
  return value;
}
