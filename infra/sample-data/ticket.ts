import type { SampleEvent } from './encode.ts';
import { openedAt, openThread, openTicket, tellThread } from './conversation.ts';
import { change, publish, remove } from './entity.ts';
import { pickMatter } from './language.ts';
import type { Thread } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

/** One in this many tickets is deleted in the end, with its conversations. */
const deletedOneIn = 60;

export type Telling = { random: Random; organization: Organization; now: Date };

/**
 * Tells the history of one ticket, event by event, and gives its thread with the requester; null where it was
 * deleted. `messages` fixes the length of that thread.
 */
export function* tellTicket(
  { random, organization, now }: Telling,
  messages = 2 + Math.floor(random.unit() ** 2 * 20),
): Generator<SampleEvent, Thread | null> {
  const matter = pickMatter(random, organization.sells);
  const created = openedAt(random, now);
  const ticket = openTicket(random, organization, matter, created);
  const primary = openThread(random, organization, ticket, matter, 'primary');
  const sides = Array.from({ length: random.chance(0.12) ? random.int(1, 2) : 0 }, () =>
    openThread(random, organization, ticket, matter, 'side'),
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
  yield* tellThread(random, primary, { role: 'primary', ticketStatus, messages, now });
  for (const side of sides) {
    yield* tellThread(random, side, { role: 'side', ticketStatus, messages: random.int(1, 5), now });
  }
  const { updatedAt } = primary.conversation.state;
  const rated = ticketStatus !== 'open' && ticketStatus !== 'snoozed' && random.chance(0.7);
  const ended = { status: ticketStatus, updatedAt, estimatedScore: rated ? random.int(1, 5) : null };
  yield change(ticket, ended, new Date(updatedAt));
  if (messages > 100 || random.int(1, deletedOneIn) > 1) return primary;
  for (const { conversation } of [primary, ...sides]) yield remove(conversation, new Date(updatedAt));
  yield remove(ticket, new Date(updatedAt));
  return null;
}
