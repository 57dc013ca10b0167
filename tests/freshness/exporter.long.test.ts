import {
  exportChanges,
  type Client,
  type Message,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';
import { connect } from '../client/test-client.ts';
import { createRandom } from '../support/random.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { createTraffic } from './changes.ts';
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
    const traffic = createTraffic(source, createRandom(seed + 1));
    let turn = 0;
    const happen = () => {
      turn += 1;
      for (let count = turn < 10 ? 3 : 1; count > 0; count -= 1) traffic.happen();
    };
    const living = scenario.live(happen, () => turn < turns, turnMs).then(source.finish);
    await eventually(async () => (await get('/v1/tickets')).status === 200);
    // when an exporter goes round all the while, until a round began with all that ever happened
    const copy = createCopy();
    let since: string | undefined;
    let rounds = 0;
    let isOver = false;
    void living.finally(() => (isOver = true));
    const endedAt = () => new Date(source.nowMs() - 6_000).toISOString();
    while (!isOver || since === undefined || since < endedAt()) {
      const next: string = await exportRound(client, copy, since);
      expect(next >= (since ?? '')).toBe(true);
      since = next;
      rounds += 1;
      expect(fatal()).toEqual([]);
    }
    await living;
    // then it holds each ticket as it ended; it keeps deleted tickets, as no list shows the deletion
    const expected = [...traffic.cases.values()].map((one) => [
      one.id,
      {
        title: one.title,
        status: one.status,
        updatedAt: toTheSecond(one.updatedAt),
        threads: { [one.conversation]: one.messages.map(({ content }) => content) },
      },
    ]);
    const held = [...traffic.cases.keys()].map((id) => [id, ownOf(copy, id)]);
    expect(rounds).toBeGreaterThan(10);
    expect({ seed, tickets: Object.fromEntries(held) as unknown }).toEqual({
      seed,
      tickets: Object.fromEntries(expected) as unknown,
    });

    // and a round without a bound brings the rest: the names of others, and the deletions
    const whole = createCopy();
    await exportRound(client, whole, undefined);
    expect([...whole.tickets.keys()].toSorted()).toEqual([...traffic.cases.keys()].toSorted());
    for (const one of traffic.cases.values()) {
      expect(whole.tickets.get(one.id)?.requester.name).toBe(traffic.nameOf(one.contact));
    }
  }, 180_000);
});
