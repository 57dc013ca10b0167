import { created } from '../support/entities.ts';
import type { Random } from '../support/random.ts';
import type { SourceSystem, Emitted } from './source-system.ts';

type TicketState = { title: string; status: string; updatedAt: string; contact: string };
type Case = TicketState & { id: string; conversation: string; messages: { id: string; content: string }[] };

const statuses = ['open', 'snoozed', 'resolved', 'assumed_resolved', 'closed'];

/**
 * Random changes to support tickets, and the state that they lead to. Each change in a thread updates its ticket at
 * the same instant, and `updatedAt` is the instant of the change.
 */
export function createTraffic(source: SourceSystem, random: Random) {
  const cases = new Map<string, Case>();
  const names = new Map<string, string>();
  let made = 0;

  const shuffled = (events: Emitted[]) => {
    while (events.length > 0)
      for (const event of events.splice(random.int(events.length), 1)) source.emit(event);
  };
  const at = () => new Date(source.nowMs()).toISOString();
  const ticketEvent = (one: Case, op: Emitted['op']): Emitted => {
    const { title, status, updatedAt, contact } = one;
    return { ...created('ticket', one.id, { title, status, updatedAt, requesterId: contact }), op };
  };
  const conversationEvent = (one: Case, op: Emitted['op']): Emitted => ({
    ...created('conversation', one.conversation, {
      ticketId: one.id,
      updatedAt: one.updatedAt,
      contactId: one.contact,
    }),
    op,
  });
  const write = (one: Case): Emitted => {
    made += 1;
    const message = { id: `msg_${made}`, content: `Message ${made}` };
    one.messages.push(message);
    // Ids do not sort by number, so each message has its own instant.
    const createdAt = new Date(Date.UTC(2025, 0, 1) + made * 1_000).toISOString();
    return created('message', message.id, { ...message, conversationId: one.conversation, createdAt });
  };
  const open = () => {
    made += 1;
    const id = `ti_${made}`;
    const contact = `con_${random.int(5)}`;
    const one: Case = {
      id,
      title: `Ticket ${made}`,
      status: 'open',
      updatedAt: at(),
      contact,
      conversation: `conv_${made}`,
      messages: [],
    };
    cases.set(id, one);
    shuffled([write(one), conversationEvent(one, 'created'), ticketEvent(one, 'created')]);
  };
  const reply = (one: Case) => {
    one.updatedAt = at();
    shuffled([write(one), conversationEvent(one, 'updated'), ticketEvent(one, 'updated')]);
  };
  const move = (one: Case) => {
    Object.assign(one, { updatedAt: at(), status: random.pick(statuses) });
    source.emit(ticketEvent(one, 'updated'));
  };
  const remove = (one: Case) => {
    cases.delete(one.id);
    source.emit({ kind: 'ticket', id: one.id, op: 'deleted' });
  };
  const rename = () => {
    const id = `con_${random.int(5)}`;
    const name = `Name ${random.int(1_000)}`;
    names.set(id, name);
    source.emit({ kind: 'contact', id, op: 'updated', data: { id, name, email: null } });
  };
  source.emit(created('channel', 'chan_1'));

  return {
    happen: () => {
      const one = cases.size > 0 ? random.pick([...cases.values()]) : null;
      const fate = random.int(100);
      if (!one || fate < 20) open();
      else if (fate < 60) reply(one);
      else if (fate < 88) move(one);
      else if (fate < 92) remove(one);
      else rename();
    },
    /** The final state of every ticket that is not deleted. */
    cases,
    nameOf: (contact: string) => names.get(contact) ?? null,
  };
}
