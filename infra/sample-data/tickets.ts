import { dayMs } from '../../shared/documents/instant.ts';
import { type Case, cases, followUps, systemNotes } from './cases.ts';
import type { Event, SourceState } from './encode.ts';
import { change, type Entity, publish, remove } from './entity.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

type ConversationState = SourceState<'conversation'>;
type TicketStatus = SourceState<'ticket'>['status'];
type Role = SourceState<'message'>['role'];

/** A conversation with everything that its messages refer to. */
export type ConversationContext = {
  organization: Organization;
  ticket: Entity<'ticket'>;
  conversation: Entity<'conversation'>;
  subject: Case;
  medium: SourceState<'message'>['type'];
};

type TicketContext = { random: Random; organization: Organization; now: Date };

/** The possible statuses of a conversation, by the status of its ticket. */
const conversationStatusesOf: { [S in TicketStatus]: ConversationState['status'][] } = {
  open: ['waiting_for_user', 'needs_first_response', 'needs_follow_up', 'investigating'],
  snoozed: ['paused', 'scheduled_ai_response'],
  resolved: ['resolved', 'resolved', 'archived'],
  assumed_resolved: ['assumed_resolved'],
  closed: ['resolved', 'archived', 'spam'],
};

/** One of 60 tickets is deleted at the end of its events, with its conversations. */
const deletedOneIn = 60;

/**
 * Yields the events of one ticket. Returns its conversation with the requester, or null if the ticket was deleted.
 * `messages` is the length of that conversation.
 */
export function* ticketEvents(
  { random, organization, now }: TicketContext,
  messages = 2 + Math.floor(random.unit() ** 2 * 20),
): Generator<Event, ConversationContext | null> {
  // A time within the last 180 days; recent times are more likely.
  const createdAt = new Date(now.getTime() - 60_000 - Math.floor(random.unit() ** 2 * 180 * dayMs));
  const primary = openTicket(random, organization, createdAt);
  const { ticket } = primary;
  const sides = Array.from({ length: random.chance(0.12) ? random.between(1, 2) : 0 }, () =>
    openConversation(random, organization, ticket, primary.subject, 'side'),
  );
  if (random.chance(0.5)) yield publish(ticket, createdAt);
  const status = random.pick([
    'open',
    'open',
    'snoozed',
    'resolved',
    'resolved',
    'assumed_resolved',
    'closed',
  ] as const);
  yield* conversationEvents(random, primary, { status, messages, now });
  for (const side of sides)
    yield* conversationEvents(random, side, { status, messages: random.between(1, 5), now });
  const { updatedAt } = primary.conversation.state;
  const isRated = status !== 'open' && status !== 'snoozed' && random.chance(0.7);
  const estimatedScore = isRated ? random.between(1, 5) : null;
  yield change(ticket, { status, updatedAt, estimatedScore }, new Date(updatedAt));
  if (messages > 100 || random.between(1, deletedOneIn) > 1) return primary;
  for (const { conversation } of [primary, ...sides]) yield remove(conversation, new Date(updatedAt));
  yield remove(ticket, new Date(updatedAt));
  return null;
}

/** Creates a ticket and its conversation with the requester, without publishing them. */
export function openTicket(random: Random, organization: Organization, at: Date): ConversationContext {
  const { make, topics, products } = organization;
  const item = random.pick(products);
  const order = `#${random.between(10_000, 99_999)}`;
  const fill = (text: string) => {
    const filled = text.replaceAll('{item}', item).replaceAll('{order}', order);
    return filled.charAt(0).toUpperCase() + filled.slice(1);
  };
  const { topic, title, opening, answer } = random.pick(cases);
  const subject = { topic, title: fill(title), opening: fill(opening), answer: fill(answer) };
  const topicIds = topics.filter(({ state }) => state.name === topic).map(({ state }) => state.id);
  const createdAt = at.toISOString();
  const ticket = make('ticket', {
    title: subject.title,
    status: 'open',
    topicIds,
    estimatedScore: null,
    createdAt,
    updatedAt: createdAt,
  });
  return openConversation(random, organization, ticket, subject, 'primary');
}

function openConversation(
  random: Random,
  organization: Organization,
  ticket: Entity<'ticket'>,
  subject: Case,
  role: ConversationState['role'],
): ConversationContext {
  const { channels } = organization;
  const isSide = role === 'side';
  const channel = random.pick(isSide ? channels.filter(({ state }) => state.type === 'email') : channels);
  const { id, title, requesterId, topicIds, tagIds, createdAt } = ticket.state;
  const conversation = organization.make('conversation', {
    ticketId: id,
    role,
    title: isSide ? `Fwd: ${title}` : title,
    status: 'needs_first_response',
    channelId: channel.state.id,
    contactId: isSide ? random.pick(organization.contacts).state.id : requesterId,
    topicIds: [...topicIds],
    tagIds: isSide ? [] : [...tagIds],
    createdAt,
    updatedAt: createdAt,
    waitingSince: null,
    firstHumanReplyAt: null,
    resolvedAt: null,
  });
  const medium = channel.state.type === 'chatbot' ? 'chat' : 'email';
  return { organization, ticket, conversation, subject, medium };
}

type ConversationPlan = { status: TicketStatus; messages: number; now: Date };

/** Yields the events of a conversation: its creation, its messages, a few deletions, and its final state. */
function* conversationEvents(
  random: Random,
  context: ConversationContext,
  plan: ConversationPlan,
): Generator<Event> {
  const { conversation } = context;
  const { state } = conversation;
  let at = new Date(state.createdAt);
  // Steps last up to hours, and are shorter if the time until `now` does not suffice.
  const stepMsMax = Math.min(
    9 * 3_600_000,
    (1.8 * (plan.now.getTime() - at.getTime())) / (plan.messages + 1),
  );
  // Half of the conversations have a creation event. The others have only their last event, as after compaction.
  if (random.chance(0.5)) yield publish(conversation, at);
  let previous: Role | null = null;
  for (let number = 0; number < plan.messages; number++) {
    if (number > 0)
      at = new Date(Math.min(plan.now.getTime(), at.getTime() + random.unit() ** 2 * stepMsMax));
    const role: Role = nextRole(random, previous, state.supportLevel);
    const message = writeMessage(random, context, role, at, number === 0);
    yield publish(message, at);
    if (random.chance(0.005)) yield remove(message, at);
    if (role === 'human') state.firstHumanReplyAt ??= at.toISOString();
    previous = role;
  }
  const status = random.pick(conversationStatusesOf[plan.status]);
  const updatedAt = at.toISOString();
  const waitingSince = status.startsWith('needs') ? updatedAt : null;
  const resolvedAt = status.endsWith('resolved') ? updatedAt : null;
  yield change(conversation, { status, updatedAt, waitingSince, resolvedAt }, at);
}

/** The contact first, then contact and team alternately, with rare system notes. */
function nextRole(random: Random, previous: Role | null, supportLevel: 'ai' | 'human'): Role {
  if (previous === null) return 'user';
  if (random.chance(0.04)) return 'system';
  if (previous !== 'user') return random.chance(0.8) ? 'user' : 'human';
  return random.chance(supportLevel === 'ai' ? 0.8 : 0.2) ? 'assistant' : 'human';
}

/** Creates a message that is recorded at `at`, without publishing it. */
export function writeMessage(
  random: Random,
  { organization, conversation, subject, medium }: ConversationContext,
  role: Role,
  at: Date,
  isFirst = false,
): Entity<'message'> {
  const { users, agents, make, faker } = organization;
  const { id, contactId, assignedUserId } = conversation.state;
  const isOutbound = role === 'human' || role === 'assistant';
  const greeting = `Hello ${faker.person.firstName()}, thank you for writing in.`;
  const authors = {
    user: { type: 'contact', id: contactId },
    human: { type: 'user', id: assignedUserId ?? random.pick(users).state.id },
    assistant: { type: 'ai_agent', id: random.pick(agents).state.id },
    system: null,
  } as const;
  const contents = {
    user: isFirst ? subject.opening : random.pick(followUps),
    human: `${greeting} ${subject.answer}`,
    assistant: `${greeting} ${subject.answer}`,
    system: random.pick(systemNotes),
  };
  // A few messages have files, and a few outbound ones stay unsent drafts.
  const hasFiles = role !== 'system' && random.chance(0.1);
  return make('message', {
    conversationId: id,
    type: medium,
    role,
    author: authors[role],
    content: hasFiles && random.chance(0.1) ? null : contents[role],
    ...(!hasFiles && { attachments: [] }),
    createdAt: at.toISOString(),
    sentAt: isOutbound && random.chance(0.97) ? at.toISOString() : null,
  });
}
