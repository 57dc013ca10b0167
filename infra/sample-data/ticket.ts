import type { Event } from './encode.ts';
import { conversationEvents, openConversation, openedAt, openTicket } from './conversation.ts';
import { change, publish, remove } from './entity.ts';
import { pickSubject } from './language.ts';
import type { ConversationContext } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

/** One ticket in this many is deleted at the end, with its conversations. */
const deletedOneIn = 60;

type TicketContext = { random: Random; organization: Organization; now: Date };

/**
 * Yields the events of one ticket. Returns its conversation with the requester, or null if the ticket was deleted.
 * `messages` is the length of that conversation.
 */
export function* ticketEvents(
  { random, organization, now }: TicketContext,
  messages = 2 + Math.floor(random.unit() ** 2 * 20),
): Generator<Event, ConversationContext | null> {
  const subject = pickSubject(random, organization.products);
  const created = openedAt(random, now);
  const ticket = openTicket(random, organization, subject, created);
  const primary = openConversation(random, organization, ticket, subject, 'primary');
  const sides = Array.from({ length: random.chance(0.12) ? random.between(1, 2) : 0 }, () =>
    openConversation(random, organization, ticket, subject, 'side'),
  );
  if (random.chance(0.5)) yield publish(ticket, created);
  const ticketStatus = random.pick([
    'open',
    'open',
    'snoozed',
    'resolved',
    'resolved',
    'assumed_resolved',
    'closed',
  ] as const);
  yield* conversationEvents(random, primary, { role: 'primary', ticketStatus, messages, now });
  for (const side of sides) {
    yield* conversationEvents(random, side, {
      role: 'side',
      ticketStatus,
      messages: random.between(1, 5),
      now,
    });
  }
  const { updatedAt } = primary.conversation.state;
  const rated = ticketStatus !== 'open' && ticketStatus !== 'snoozed' && random.chance(0.7);
  const finalState = { status: ticketStatus, updatedAt, estimatedScore: rated ? random.between(1, 5) : null };
  yield change(ticket, finalState, new Date(updatedAt));
  if (messages > 100 || random.between(1, deletedOneIn) > 1) return primary;
  for (const { conversation } of [primary, ...sides]) yield remove(conversation, new Date(updatedAt));
  yield remove(ticket, new Date(updatedAt));
  return null;
}
