import { setTimeout as sleep } from 'node:timers/promises';
import { encode, type Event } from '../../../infra/sample-data/encode.ts';
import { publish } from '../../../infra/sample-data/entity.ts';
import { reply } from '../../../infra/sample-data/live-changes.ts';
import { publishRecords } from '../../../infra/sample-data/publish.ts';
import { generateSampleData, type SampleState } from '../../../infra/sample-data/sample-data.ts';
import { type ConversationContext, openTicket } from '../../../infra/sample-data/tickets.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import type { BenchEnvironment } from '../environment.ts';

/** The interval at which the source publishes the replies that are due, in milliseconds. */
const tickMs = 10;
/** A reply has three events: a message, and the updates of its conversation and its ticket. */
const eventsPerReply = 3;
const recordsPerRequest = 500;

/** Publishes organizations, and tickets with one conversation each. Returns the state that replies continue. */
export async function publishTickets(environment: BenchEnvironment, tickets: number): Promise<SampleState> {
  const now = new Date('2026-11-01');
  const size = { tickets: 0, contacts: Math.ceil(tickets / 3), longestConversation: 1 };
  const { events, state } = generateSampleData({ seed: 1, size, now });
  const { random, organizations } = state;
  const conversations: ConversationContext[] = Array.from({ length: tickets }, () =>
    openTicket(random, random.pick(organizations), now),
  );
  const opened = conversations.flatMap(({ ticket, conversation }) => [ticket, conversation]);
  const allEvents = [...events, ...opened.map((entity) => publish(entity, now))];
  for (let start = 0; start < allEvents.length; start += recordsPerRequest) {
    const batch = allEvents.slice(start, start + recordsPerRequest);
    await publishRecords(
      environment,
      batch.map((event) => ({ kind: event.kind, ...encode(event, 'structured') })),
    );
  }
  return { random, organizations, conversations };
}

export type Publishing = {
  /** Events a second. */
  rate: number;
  seconds: number;
  /** Called with the events of each reply once they are sent, and the instant at which they were due. */
  onSent: (events: Event[], dueMs: number) => void;
  /** Called for each reply with the milliseconds from its due instant until the broker acknowledged it. */
  onAcknowledged: (ms: number) => void;
};

/**
 * Publishes replies at a fixed rate. Each reply is due at an instant that no earlier reply moves, so a lag of the
 * source or a broker counts as latency. Resolves once the brokers have acknowledged all replies.
 */
export async function publishReplies(
  { producer, prefix }: Pick<BenchEnvironment, 'producer' | 'prefix'>,
  state: SampleState,
  { rate, seconds, onSent, onAcknowledged }: Publishing,
): Promise<void> {
  const intervalMs = (1_000 * eventsPerReply) / rate;
  const total = Math.floor((seconds * 1_000) / intervalMs);
  const startMs = performance.now();
  const sending: Promise<void>[] = [];
  const send = async (replies: { events: Event[]; dueMs: number }[]) => {
    const byKind = Map.groupBy(
      replies.flatMap(({ events }) => events),
      ({ kind }) => kind,
    );
    const topicMessages = [...byKind].map(([kind, events]) => ({
      topic: topicOf(kind, prefix),
      messages: events.map((event) => encode(event, 'structured')),
    }));
    await producer.sendBatch({ topicMessages });
    for (const { dueMs } of replies) onAcknowledged(performance.now() - dueMs);
  };
  let sent = 0;
  while (sent < total) {
    const due: { events: Event[]; dueMs: number }[] = [];
    while (sent < total && startMs + sent * intervalMs <= performance.now()) {
      due.push({ events: reply(state, new Date()), dueMs: startMs + sent * intervalMs });
      sent += 1;
    }
    for (const { events, dueMs } of due) onSent(events, dueMs);
    if (due.length > 0) sending.push(send(due));
    await sleep(tickMs);
  }
  await Promise.all(sending);
}
