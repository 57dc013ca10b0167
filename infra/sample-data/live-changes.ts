import { openConversation, openTicket } from './conversation.ts';
import type { SourceState, Event, SampleRecord } from './encode.ts';
import { change, publish, type Entity } from './entity.ts';
import { recordsOf, type SampleState } from './sample-data.ts';
import { personName, pickSubject } from './language.ts';
import { writeMessage, type ConversationContext, type Role } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

/** The maximum number of conversations that change. A new one replaces a random one. */
const conversationsMax = 300;

type LiveChange = (state: SampleState, at: Date) => Event[];

/**
 * Yields live changes without end: each step has all records of one change. `now` is the clock of the events. The same
 * seed and clock return the same steps.
 */
export function* liveChanges(
  state: SampleState,
  now: () => Date = () => new Date(),
): Generator<SampleRecord[], never> {
  for (;;) {
    const events = state.random.pick(weightedChanges)(state, now());
    yield events.flatMap((event) => recordsOf(state.random, event));
  }
}

function newTicket(state: SampleState, at: Date): Event[] {
  const { random, organizations, conversations } = state;
  const organization = random.pick(organizations);
  const subject = pickSubject(random, organization.products);
  const ticket = openTicket(random, organization, subject, at);
  const context = openConversation(random, organization, ticket, subject, 'primary');
  const message = writeMessage(random, context, { role: 'user', first: true, at });
  if (conversations.length >= conversationsMax)
    conversations.splice(random.between(0, conversations.length - 1), 1);
  conversations.push(context);
  // A message can arrive before its conversation, and a conversation before its ticket.
  return [publish(message, at), publish(context.conversation, at), publish(ticket, at)];
}

function reply({ random, conversations }: SampleState, at: Date): Event[] {
  const context = random.pick(conversations);
  const role: Role = random.pick(['user', 'user', 'human', 'assistant']);
  const message = writeMessage(random, context, { role, first: false, at });
  const status = role === 'user' ? 'needs_follow_up' : 'waiting_for_user';
  const waitingSince = role === 'user' ? at.toISOString() : null;
  const conversation: Partial<SourceState<'conversation'>> = { status, waitingSince, resolvedAt: null };
  if (role === 'human')
    conversation.firstHumanReplyAt = context.conversation.state.firstHumanReplyAt ?? at.toISOString();
  return [
    publish(message, at),
    ...updateTicket(context, { status: 'open', estimatedScore: null }, conversation, at),
  ];
}

function resolve({ random, conversations }: SampleState, at: Date): Event[] {
  const status = random.pick(['resolved', 'assumed_resolved'] as const);
  const rated = { status, estimatedScore: random.between(1, 5) };
  return updateTicket(
    random.pick(conversations),
    rated,
    { status, waitingSince: null, resolvedAt: at.toISOString() },
    at,
  );
}

function archive({ random, conversations }: SampleState, at: Date): Event[] {
  return updateTicket(
    random.pick(conversations),
    { status: 'closed' },
    { status: 'archived', waitingSince: null },
    at,
  );
}

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

function renameContact({ random, organizations }: SampleState, at: Date): Event[] {
  const { first, last } = personName(random);
  return [change(existingContact(random, random.pick(organizations)), { name: `${first} ${last}` }, at)];
}

/** Excludes the first contact, which is deleted. */
const existingContact = (random: Random, { contacts }: Organization): Entity<'contact'> =>
  random.pick(contacts.slice(1));

function recolorTopic({ random, organizations }: SampleState, at: Date): Event[] {
  const color = random.pick(['#2f6fde', '#12a150', '#d9480f', '#7048e8', null]);
  return [change(random.pick(random.pick(organizations).topics), { color }, at)];
}

function assign({ random, conversations }: SampleState, at: Date): Event[] {
  const { conversation, organization } = random.pick(conversations);
  const patch = { assignedUserId: random.pick(organization.users).state.id, supportLevel: 'human' } as const;
  return [change(conversation, { ...patch, updatedAt: at.toISOString() }, at)];
}

function pauseOrResume({ random, organizations }: SampleState, at: Date): Event[] {
  const channel = random.pick(random.pick(organizations).channels.open);
  const { pausedAt, resumedAt } = channel.state;
  const paused = Boolean(pausedAt) && (!resumedAt || resumedAt < (pausedAt ?? ''));
  const instant = at.toISOString();
  return [
    change(channel, { ...(paused ? { resumedAt: instant } : { pausedAt: instant }), updatedAt: instant }, at),
  ];
}

/** Connected mailboxes sync regularly: without a sync they would count as stalled after six hours. */
function syncMailboxes({ organizations }: SampleState, at: Date): Event[] {
  return organizations.flatMap(({ channels }) =>
    channels.open.flatMap((channel) => {
      const { state } = channel;
      if (state.type !== 'email' || !state.email.connection) return [];
      const connection = { ...state.email.connection, lastSyncedAt: at.toISOString() };
      return [change(channel, { email: { ...state.email, connection } }, at)];
    }),
  );
}

/** The possible changes. A change is as likely as the number of its entries. */
const weightedChanges: LiveChange[] = [
  ...Array<LiveChange>(8).fill(newTicket),
  ...Array<LiveChange>(24).fill(reply),
  ...Array<LiveChange>(5).fill(resolve),
  ...Array<LiveChange>(4).fill(assign),
  archive,
  renameContact,
  renameContact,
  recolorTopic,
  pauseOrResume,
  syncMailboxes,
];
