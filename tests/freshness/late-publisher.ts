import { topicOf } from '../../services/projector/events/topics.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import type { Random } from '../support/random.ts';

type Queue = {
  topic: string;
  partition: number;
  waiting: { timeMs: number; record: Produced }[];
  pausedTurns: number;
};

const partitions = 3;

/**
 * A source system that publishes late: each partition pauses at random, and its events wait. The source system has
 * its own clock, which stops before an event waits longer than the lateness allowance. The projector's contract
 * therefore holds on a machine of any speed.
 */
export function createLatePublisher(
  { producer, config }: TestEnvironment,
  random: Random,
  { stepMs }: { stepMs: number },
) {
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const queues = new Map<string, Queue>();
  let nowMs = Date.UTC(2026, 0, 1);

  const queueOf = ({ kind, id }: Event): Queue => {
    const topic = topicOf(kind, config.TOPIC_PREFIX);
    const partition = [...id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % partitions;
    const queue = queues.get(`${topic}/${partition}`) ?? { topic, partition, waiting: [], pausedTurns: 0 };
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
    // Unpublished events hold the projectors' clock back, so they are removed only now.
    for (const { queue, count } of sent) queue.waiting.splice(0, count);
  };
  const waiting = () => [...queues.values()].filter((queue) => queue.waiting.length > 0);
  const oldestMs = (from: number) =>
    waiting().reduce((earliest, queue) => Math.min(earliest, queue.waiting[0]?.timeMs ?? earliest), from);

  return {
    /** The source system's clock: the time of its events. */
    sourceNow: () => new Date(nowMs),
    /** The projectors' clock: every event older than the lateness allowance has been published. */
    now: () => new Date(Math.min(nowMs, oldestMs(Infinity) + allowanceMs)),
    emit: (event: Event) => {
      const record = encode({ ...event, orgId: 'org_1' }, random.chance(0.5) ? 'structured' : 'binary');
      queueOf(event).waiting.push({ timeMs: event.time.getTime(), record });
    },
    /** Advances the clock by a step, and publishes the waiting events of partitions that are not paused. */
    turn: async () => {
      if (nowMs + stepMs - oldestMs(nowMs) <= allowanceMs) nowMs += stepMs;
      for (const queue of queues.values()) {
        if (queue.pausedTurns > 0) queue.pausedTurns -= 1;
        else if (random.chance(0.1)) queue.pausedTurns = random.int(allowanceMs / stepMs);
      }
      await publish(waiting().filter(({ pausedTurns }) => pausedTurns === 0));
    },
    /** Publishes every waiting event, and advances the clock by more than the lateness allowance. */
    finish: async () => {
      await publish(waiting());
      nowMs += 2 * allowanceMs;
    },
  };
}
