import type { Change } from '../../services/projector/events/change.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { changeAt } from '../support/engine.ts';
import type { Event } from '../support/events.ts';
import type { NamedDeadLetter } from './memory-sweep-store.ts';

export type DeadLetter = NamedDeadLetter & { kind: Kind; change: Change };

/** A record of the log. If it has a dead letter, it is rejected: a worker stores the dead letter instead. */
type LogRecord = { change: Change; time: Date; deadLetter: DeadLetter | null };

/** A partition of the log. */
export type Partition = {
  kind: Kind;
  name: string;
  records: LogRecord[];
  /** The offset up to which some worker has applied it completely. */
  applied: number;
  committed: number;
  /** The least offset that may be delivered again. */
  redeliverableFrom: number;
  /** The number of its assignments. */
  epoch: number;
};

/** The number of partitions of a topic before any is added. */
const initialPartitions = 2;

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
    const count = initialPartitions + (grows && index * 2 >= events.length ? 1 : 0);
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
