import { dayMs, threadClock } from './clock.ts';
import type { SourceState, SampleEvent } from './encode.ts';
import { change, entity, publish, remove, type Entity } from './entity.ts';
import { title, type Matter } from './language.ts';
import { nextRole, writeMessage, type Role, type Thread } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

type State = SourceState<'conversation'>;
type TicketStatus = SourceState<'ticket'>['status'];

/** What a conversation may be in while its ticket is in a status. */
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

/** How far a conversation went. */
export type Course = { role: State['role']; ticketStatus: TicketStatus; messages: number; now: Date };

/** Opens a conversation of a ticket, unpublished, and with it the thread that it is. */
export function openThread(
  random: Random,
  organization: Organization,
  ticket: Entity<'ticket'>,
  matter: Matter,
  role: State['role'],
): Thread {
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
    matter,
    medium: channel.state.type === 'chatbot' ? 'chat' : 'email',
  };
}

/** Tells what happened in a thread: its opening, the messages, some of them deleted again, and where it ended. */
export function* tellThread(random: Random, thread: Thread, course: Course): Generator<SampleEvent> {
  const { state } = thread.conversation;
  const start = new Date(state.createdAt);
  const clock = threadClock(random, start, course.now, course.messages);
  // Half of them are told from the start, the others only as they ended: compaction has taken the rest.
  if (random.chance(0.5)) yield publish(thread.conversation, start);
  let previous: Role | null = null;
  for (let number = 0; number < course.messages; number++) {
    const at: Date = number === 0 ? start : clock.advance();
    const role: Role = nextRole(random, previous, state.supportLevel);
    const message = writeMessage(random, thread, { role, first: number === 0, at });
    yield publish(message, at);
    if (random.chance(0.005)) yield remove(message, at);
    if (role === 'human') state.firstHumanReplyAt ??= at.toISOString();
    previous = role;
  }
  yield change(thread.conversation, ending(random, course, clock.at()), clock.at());
}

function ending(random: Random, { ticketStatus }: Course, at: Date): Partial<State> {
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

/** A ticket that somebody opened then, unpublished. */
export function openTicket(
  random: Random,
  organization: Organization,
  matter: Matter,
  at: Date,
): Entity<'ticket'> {
  const { contacts, tags, topics } = organization;
  const about = topics.filter(({ state }) => state.name === matter.scenario.topic);
  return entity('ticket', organization.id, {
    id: random.id('ti_'),
    title: title(random, matter),
    status: 'open',
    requesterId: random.pick(contacts).state.id,
    tagIds: random.some(tags, random.int(0, 3)).map(({ state }) => state.id),
    topicIds: [...about, ...random.some(topics, random.int(0, 1))]
      .map(({ state }) => state.id)
      .filter(isFirst),
    createdAt: at.toISOString(),
    updatedAt: at.toISOString(),
  });
}

const isFirst = (id: string, index: number, ids: string[]) => ids.indexOf(id) === index;

/** When a ticket of the last half year was opened: more of them lately, none in the last minute. */
export const openedAt = (random: Random, now: Date) =>
  new Date(now.getTime() - 60_000 - Math.floor(random.unit() ** 2 * 180 * dayMs));
