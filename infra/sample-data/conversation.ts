import { dayMs } from '../../shared/documents/retention.ts';
import { conversationClock } from './clock.ts';
import type { SourceState, Event } from './encode.ts';
import { change, entity, publish, remove, type Entity } from './entity.ts';
import { title, type Subject } from './language.ts';
import { nextRole, writeMessage, type Role, type ConversationContext } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

type State = SourceState<'conversation'>;
type TicketStatus = SourceState<'ticket'>['status'];

/** The possible statuses of a conversation, by the status of its ticket. */
const statusesBy: { [S in TicketStatus]: State['status'][] } = {
  open: [
    'waiting_for_user',
    'needs_first_response',
    'needs_follow_up',
    'scheduled_ai_response',
    'investigating',
  ],
  snoozed: ['paused', 'scheduled_ai_response'],
  resolved: ['resolved', 'resolved', 'archived'],
  assumed_resolved: ['assumed_resolved'],
  closed: ['resolved', 'archived', 'spam'],
};

/** The length and outcome of a conversation. */
type ConversationPlan = { role: State['role']; ticketStatus: TicketStatus; messages: number; now: Date };

/** Creates a conversation of a ticket, without publishing it. Returns it with everything its messages refer to. */
export function openConversation(
  random: Random,
  organization: Organization,
  ticket: Entity<'ticket'>,
  subject: Subject,
  role: State['role'],
): ConversationContext {
  const { open } = organization.channels;
  const channel = random.pick(role === 'side' ? open.filter(({ state }) => state.type === 'email') : open);
  const conversation = entity('conversation', organization.id, {
    id: random.id('conv_'),
    ticketId: ticket.state.id,
    role,
    title: role === 'side' ? `Fwd: ${ticket.state.title}` : ticket.state.title,
    status: 'needs_first_response',
    supportLevel: random.chance(0.6) ? 'ai' : 'human',
    channelId: channel.state.id,
    contactId: role === 'side' ? random.pick(organization.contacts).state.id : ticket.state.requesterId,
    assignedUserId: random.chance(0.5) ? random.pick(organization.users).state.id : null,
    topicIds: [...ticket.state.topicIds],
    tagIds: role === 'side' ? [] : [...ticket.state.tagIds],
    urgencyScore: random.pick([null, 1, 1, 2, 3]),
    createdAt: ticket.state.createdAt,
    updatedAt: ticket.state.createdAt,
  });
  return {
    organization,
    ticket,
    conversation,
    subject,
    medium: channel.state.type === 'chatbot' ? 'chat' : 'email',
  };
}

/** Yields the events of a conversation: its creation, its messages, a few deletions, and its final state. */
export function* conversationEvents(
  random: Random,
  context: ConversationContext,
  plan: ConversationPlan,
): Generator<Event> {
  const { state } = context.conversation;
  const start = new Date(state.createdAt);
  const clock = conversationClock(random, start, plan.now, plan.messages);
  // Half of the conversations have a creation event. For the others only the last event is left, as after compaction.
  if (random.chance(0.5)) yield publish(context.conversation, start);
  let previous: Role | null = null;
  for (let number = 0; number < plan.messages; number++) {
    const at: Date = number === 0 ? start : clock.advance();
    const role: Role = nextRole(random, previous, state.supportLevel);
    const message = writeMessage(random, context, { role, first: number === 0, at });
    yield publish(message, at);
    if (random.chance(0.005)) yield remove(message, at);
    if (role === 'human') state.firstHumanReplyAt ??= at.toISOString();
    previous = role;
  }
  yield change(context.conversation, finalState(random, plan, clock.at()), clock.at());
}

function finalState(random: Random, { ticketStatus }: ConversationPlan, at: Date): Partial<State> {
  const status = random.pick(statusesBy[ticketStatus]);
  const waits = status === 'needs_first_response' || status === 'needs_follow_up';
  const resolved = status === 'resolved' || status === 'assumed_resolved';
  return {
    status,
    updatedAt: at.toISOString(),
    waitingSince: waits ? at.toISOString() : null,
    resolvedAt: resolved ? at.toISOString() : null,
  };
}

/** Creates a ticket that was opened at `at`, without publishing it. */
export function openTicket(
  random: Random,
  organization: Organization,
  subject: Subject,
  at: Date,
): Entity<'ticket'> {
  const { contacts, tags, topics } = organization;
  const about = topics.filter(({ state }) => state.name === subject.scenario.topic);
  return entity('ticket', organization.id, {
    id: random.id('ti_'),
    title: title(random, subject),
    status: 'open',
    requesterId: random.pick(contacts).state.id,
    tagIds: random.some(tags, random.between(0, 3)).map(({ state }) => state.id),
    topicIds: [...about, ...random.some(topics, random.between(0, 1))]
      .map(({ state }) => state.id)
      .filter(isFirst),
    createdAt: at.toISOString(),
    updatedAt: at.toISOString(),
  });
}

const isFirst = (id: string, index: number, ids: string[]) => ids.indexOf(id) === index;

/** Returns a creation time within the last 180 days: recent times are more likely, the last minute is excluded. */
export const openedAt = (random: Random, now: Date) =>
  new Date(now.getTime() - 60_000 - Math.floor(random.unit() ** 2 * 180 * dayMs));
