import type { Change } from '../../services/projector/events/change.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { changeAt } from '../support/engine.ts';
import type { Event } from '../support/events.ts';
import type { NamedDeadLetter } from './memory-sweep-store.ts';

export type DeadLetter = NamedDeadLetter & { kind: Kind; change: Change };

/** A record of the log. A worker stores the dead letter of a rejected one instead of applying it. */
type LogRecord = { change: Change; time: Date; deadLetter: DeadLetter | null };

/**
 * A partition of the log: its records, the offset up to which any worker has applied it completely, the committed
 * offset, the least offset that may be delivered again, and how often it was assigned.
 */
export type Partition = {
  kind: Kind;
  name: string;
  records: LogRecord[];
  applied: number;
  committed: number;
  redeliverableFrom: number;
  epoch: number;
};

/** Partitions of a topic, at first. */
const partitionsAtFirst = 2;

/**
 * Appends events to partitions by key, in order, as a producer does. With `grows`, partitions are added half-way, and
 * most keys move.
 */
export function append(
  partitions: Map<string, Partition>,
  events: Event[],
  { grows, isRejected }: { grows: boolean; isRejected: () => boolean },
): void {
  events.forEach((event, index) => {
    const count = partitionsAtFirst + (grows && index * 2 >= events.length ? 1 : 0);
    const number = [...event.id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % count;
    const name = `${event.kind}/${number}`;
    const partition = partitions.get(name) ?? {
      kind: event.kind,
      name,
      records: [],
      applied: 0,
      committed: 0,
      redeliverableFrom: 0,
      epoch: 0,
    };
    partitions.set(name, partition);
    const offset = partition.records.length;
    // Later records have later timestamps, in all partitions.
    const timestampMs = [...partitions.values()].reduce((sum, { records }) => sum + records.length, 0);
    const change = toChange(event, { partition: number, offset, timestampMs });
    const { conversationId } = (event.data ?? {}) as { conversationId?: string };
    const subjects = [event.id, ...(conversationId ? [conversationId] : [])];
    const deadLetter = isRejected() ? { kind: event.kind, change, subjects, publishedAt: event.time } : null;
    partition.records.push({ change, time: event.time, deadLetter });
  });
}

const parsed = new WeakMap<Event, Change>();

/** Each event is parsed once for all schedules; the engine never alters a change. */
function toChange(event: Event, position: Change['position']): Change {
  const change = parsed.get(event) ?? changeAt(event, position);
  parsed.set(event, change);
  return { ...change, position };
}
