import {
  exportChanges,
  type Client,
  type Message,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';
import { remove } from '../../infra/sample-data/entity.ts';
import { newTicket, renameContact, reply, resolve } from '../../infra/sample-data/live-changes.ts';
import { generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { sortKey } from '../../shared/documents/instant.ts';
import { connect } from '../client/test-client.ts';
import type { Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { startScenario } from './scenario.ts';

/** The exported tickets by id, and the threads by conversation. No thread is longer than one batch. */
type Copy = { tickets: Map<string, TicketItem>; threads: Map<string, Message[] | null> };

const createCopy = (): Copy => ({ tickets: new Map(), threads: new Map() });

/** One run of the export, with the threads; returns the start of the next run. */
async function exportRound(client: Client, copy: Copy, since: string | undefined): Promise<string> {
  let next = since ?? '';
  for await (const batch of exportChanges({ client, since, threads: true, limit: 5 })) {
    if ('ticket' in batch) copy.tickets.set(batch.ticket.id, batch.ticket);
    else copy.threads.set(batch.conversationId, batch.messages);
    next = batch.since;
  }
  return next;
}

/** Set `SEED` to reproduce a failure. */
const seed = Number(process.env.SEED ?? 1);
const turns = 200;
/** The source system's clock keeps pace with the real one: an event that is late is late for readers too. */
const turnMs = 100;

/** Random changes to tickets; each change in a thread updates its ticket at the same instant. */
function createTraffic(now: Date) {
  const size = { tickets: 0, contacts: 15, longestConversation: 0 };
  const { state, events } = generateSampleData({ seed: seed + 1, size, now });
  // Nothing expires, and the source system publishes everything now.
  const setup = [...events].flatMap((event): Event[] =>
    event
      ? [{ ...event, time: now, ...(event.data && { data: { ...event.data, dataRetentionDays: null } }) }]
      : [],
  );
  const next = (at: Date): Event[] => {
    const { random, conversations } = state;
    const fate = random.int(100);
    if (conversations.length === 0 || fate < 20) return newTicket(state, at);
    if (fate < 60) return reply(state, at);
    if (fate < 88) return resolve(state, at);
    if (fate >= 92) return renameContact(state, at);
    return conversations.splice(random.int(conversations.length), 1).map(({ ticket }) => remove(ticket, at));
  };
  return { state, setup, next };
}

describe(`an export with the client, round after round (seed ${seed})`, () => {
  const scenario = useOpened(() => startScenario({ seed, stepMs: turnMs, delayMsMax: 6_000 }));

  /** An export must hold this of a ticket: its state and its threads, but not the names of others. */
  const ownOf = ({ tickets, threads }: Copy, ticketId: string) => {
    const ticket = tickets.get(ticketId);
    if (!ticket) return null;
    const held = ticket.conversations.map(({ id }) => [id, threads.get(id)?.map(({ content }) => content)]);
    return {
      title: ticket.title,
      status: ticket.status,
      updatedAt: ticket.updatedAt,
      threads: Object.fromEntries(held) as Record<string, unknown>,
    };
  };
  const toTheSecond = (instant: string) => `${instant.slice(0, 19)}Z`;

  test('ends with the exact final state of every ticket and thread, however unevenly partitions lag', async () => {
    // given live changes while partitions are published late and consumed later, and the key is known
    const { source, get, fatal } = scenario;
    const { client } = connect({ baseUrl: scenario.url });
    const { state, setup, next: nextChange } = createTraffic(source.sourceNow());
    const latest = new Map<string, Event>();
    const emit = (events: Event[]) => {
      for (const event of events) {
        latest.set(event.id, event);
        source.emit(event);
      }
    };
    emit(setup);
    let turn = 0;
    const happen = () => {
      turn += 1;
      for (let count = turn < 10 ? 3 : 1; count > 0; count -= 1) emit(nextChange(source.sourceNow()));
    };
    const living = scenario.live(happen, () => turn < turns, turnMs).then(source.finish);
    await eventually(async () => (await get('/v1/tickets')).status === 200);
    // when an exporter goes round all the while, until a round began with all that ever happened
    const copy = createCopy();
    let since: string | undefined;
    let rounds = 0;
    let isOver = false;
    void living.finally(() => (isOver = true));
    const endedAt = () => new Date(source.sourceNow().getTime() - 6_000).toISOString();
    while (!isOver || since === undefined || since < endedAt()) {
      const next: string = await exportRound(client, copy, since);
      expect(next >= (since ?? '')).toBe(true);
      since = next;
      rounds += 1;
      expect(fatal()).toEqual([]);
    }
    await living;
    // then it holds each ticket as it ended; it keeps deleted tickets, as no list shows the deletion
    const messagesOf = (conversationId: string) =>
      [...latest.values()]
        .filter(({ kind, data }) => kind === 'message' && data?.conversationId === conversationId)
        .toSorted((a, b) => (sortKey(a.time, a.id) < sortKey(b.time, b.id) ? -1 : 1))
        .map(({ data }) => data?.content);
    const expected = state.conversations.map(({ ticket: { state: ticket }, conversation }) => {
      const { id } = conversation.state;
      const updatedAt = toTheSecond(ticket.updatedAt);
      const { title, status } = ticket;
      return [ticket.id, { title, status, updatedAt, threads: { [id]: messagesOf(id) } }];
    });
    const ids = state.conversations.map(({ ticket }) => ticket.state.id);
    const held = ids.map((id) => [id, ownOf(copy, id)]);
    expect(rounds).toBeGreaterThan(10);
    expect({ seed, tickets: Object.fromEntries(held) as unknown }).toEqual({
      seed,
      tickets: Object.fromEntries(expected) as unknown,
    });

    // and a round without a bound brings the rest: the names of others, and the deletions
    const whole = createCopy();
    await exportRound(client, whole, undefined);
    expect([...whole.tickets.keys()].toSorted()).toEqual(ids.toSorted());
    for (const { ticket } of state.conversations)
      expect(whole.tickets.get(ticket.state.id)?.requester.name).toBe(
        latest.get(ticket.state.requesterId)?.data?.name ?? null,
      );
  }, 180_000);
});
