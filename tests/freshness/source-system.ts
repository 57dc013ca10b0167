import { topicOf } from '../../services/projector/events/topics.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import type { Random } from '../support/random.ts';

/** An event as a test tells it: its time is the product's clock, its version counts up by itself. */
export type Told = Pick<Event, 'kind' | 'id' | 'op'> & { data?: Record<string, unknown> };

type Waiting = { timeMs: number; record: Produced };
type Queue = { topic: string; partition: number; waiting: Waiting[]; restingTurns: number };

const partitions = 3;

/**
 * A product that publishes late: each partition rests for random whiles, in which its events wait. The clock
 * is the product's own, and stands still rather than let an event wait for longer than is allowed for, so that
 * what the projector is promised holds on a machine of any speed.
 */
export function createProduct(
  { producer, config }: TestEnvironment,
  random: Random,
  { stepMs }: { stepMs: number },
) {
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const queues = new Map<string, Queue>();
  const versions = new Map<string, number>();
  let nowMs = Date.UTC(2026, 0, 1);

  const queueOf = (kind: Event['kind'], id: string): Queue => {
    const topic = topicOf(kind, config.TOPIC_PREFIX);
    const partition = [...id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % partitions;
    const queue = queues.get(`${topic}/${partition}`) ?? { topic, partition, waiting: [], restingTurns: 0 };
    queues.set(`${topic}/${partition}`, queue);
    return queue;
  };
  const publish = async (due: Queue[]) => {
    const sent = due.map((queue) => ({ queue, count: queue.waiting.length }));
    const topicMessages = due.map(({ topic, partition, waiting }) => ({
      topic,
      messages: waiting.map(({ record }) => ({ ...record, partition })),
    }));
    if (topicMessages.length > 0) await producer.sendBatch({ topicMessages });
    // Until the bus has them, they hold the clock of the projectors back.
    for (const { queue, count } of sent) queue.waiting.splice(0, count);
  };
  const waiting = () => [...queues.values()].filter((queue) => queue.waiting.length > 0);

  return {
    /** The product's clock, in milliseconds: what events are told at. */
    nowMs: () => nowMs,
    /** The clock of the projectors: all that happened longer ago than the allowance has been published. */
    now: () =>
      new Date(
        waiting().reduce(
          (least, queue) => Math.min(least, (queue.waiting[0]?.timeMs ?? 0) + allowanceMs),
          nowMs,
        ),
      ),
    tell: ({ kind, id, op, data }: Told) => {
      const version = (versions.get(id) ?? 0) + 1;
      versions.set(id, version);
      const event: Event = {
        kind,
        id,
        op,
        orgId: 'org_1',
        version,
        time: new Date(nowMs),
        ...(data ? { data } : {}),
      };
      const record = encode(event, random.chance(0.5) ? 'structured' : 'binary');
      queueOf(kind, id).waiting.push({ timeMs: nowMs, record });
    },
    /** Lets time pass by a step, and publishes what waits on the partitions that do not rest. */
    turn: async () => {
      const oldest = Math.min(nowMs, ...waiting().map((queue) => queue.waiting[0]?.timeMs ?? 0));
      if (nowMs + stepMs - oldest <= allowanceMs) nowMs += stepMs;
      for (const queue of queues.values()) {
        if (queue.restingTurns > 0) queue.restingTurns -= 1;
        else if (random.chance(0.1)) queue.restingTurns = random.int(allowanceMs / stepMs);
      }
      await publish(waiting().filter(({ restingTurns }) => restingTurns === 0));
    },
    /** Publishes all that waits, and lets more time pass than may be allowed for. */
    finish: async () => {
      await publish(waiting());
      nowMs += 2 * allowanceMs;
    },
  };
}

export type Product = ReturnType<typeof createProduct>;
