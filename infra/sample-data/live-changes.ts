import type { Event, SourceState } from './encode.ts';
import { change, publish } from './entity.ts';
import { conversationsMax, type SampleState } from './sample-data.ts';
import { type ConversationContext, openTicket, writeMessage } from './tickets.ts';

/** Makes a change in the source system at an instant: changes the state, and returns the events. */
type LiveChange = (state: SampleState, at: Date) => Event[];

export const newTicket: LiveChange = ({ random, organizations, conversations }, at) => {
  const context = openTicket(random, random.pick(organizations), at);
  const message = writeMessage(random, context, 'user', at, true);
  // A new conversation replaces a random one.
  if (conversations.length >= conversationsMax) conversations.splice(random.int(conversations.length), 1);
  conversations.push(context);
  // A message can arrive before its conversation, and a conversation before its ticket.
  return [publish(message, at), publish(context.conversation, at), publish(context.ticket, at)];
};

export const reply: LiveChange = ({ random, conversations }, at) => {
  const context = random.pick(conversations);
  const role = random.pick(['user', 'user', 'human', 'assistant'] as const);
  const { firstHumanReplyAt } = context.conversation.state;
  const message = publish(writeMessage(random, context, role, at), at);
  const updates = updateTicket(
    context,
    { status: 'open', estimatedScore: null },
    {
      status: role === 'user' ? 'needs_follow_up' : 'waiting_for_user',
      waitingSince: role === 'user' ? at.toISOString() : null,
      firstHumanReplyAt: firstHumanReplyAt ?? (role === 'human' ? at.toISOString() : null),
      resolvedAt: null,
    },
    at,
  );
  return [message, ...updates];
};

const resolve: LiveChange = ({ random, conversations }, at) => {
  const status = random.pick(['resolved', 'assumed_resolved'] as const);
  const ticket = { status, estimatedScore: random.between(1, 5) };
  const conversation = { status, waitingSince: null, resolvedAt: at.toISOString() };
  return updateTicket(random.pick(conversations), ticket, conversation, at);
};

/** Updates a conversation and its ticket at the same instant. */
function updateTicket(
  { ticket, conversation }: ConversationContext,
  ticketPatch: Partial<SourceState<'ticket'>>,
  conversationPatch: Partial<SourceState<'conversation'>>,
  at: Date,
): Event[] {
  const updatedAt = at.toISOString();
  return [
    change(conversation, { ...conversationPatch, updatedAt }, at),
    change(ticket, { ...ticketPatch, updatedAt }, at),
  ];
}

/** Renames a contact, except the first one, which is deleted. */
const renameContact: LiveChange = ({ random, organizations }, at) => {
  const { contacts, faker } = random.pick(organizations);
  return [change(random.pick(contacts.slice(1)), { name: faker.person.fullName() }, at)];
};

/** Records that each connected mailbox was read. Otherwise it would count as stalled after six hours. */
const syncMailboxes: LiveChange = ({ organizations }, at) =>
  organizations
    .flatMap(({ channels }) => channels)
    .flatMap((channel) => {
      const { state } = channel;
      if (state.type !== 'email' || !state.email.connection) return [];
      const connection = { ...state.email.connection, lastSyncedAt: at.toISOString() };
      return [change(channel, { email: { ...state.email, connection } }, at)];
    });

/** The changes, each with its relative frequency. */
const weights: [LiveChange, number][] = [
  [newTicket, 8],
  [reply, 24],
  [resolve, 6],
  [renameContact, 4],
  [syncMailboxes, 1],
];
const weighted = weights.flatMap(([make, weight]) => Array<LiveChange>(weight).fill(make));

/** Makes a random change. The same seed and instants make the same changes. */
export const liveChange: LiveChange = (state, at) => state.random.pick(weighted)(state, at);
