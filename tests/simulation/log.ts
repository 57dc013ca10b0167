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
  const appendedBefore = recordCount(partitions);
  for (const [index, event] of events.entries()) {
    const hasGrown = grows && index >= events.length / 2;
    const number = partitionOf(event.id, hasGrown ? initialPartitions + 1 : initialPartitions);
    const name = `${event.kind}/${number}`;
    const partition = partitions.get(name) ?? emptyPartition(event.kind, name);
    partitions.set(name, partition);
    const offset = partition.records.length;
    // Later records have later timestamps, in all partitions.
    const timestampMs = appendedBefore + index;
    const change = toChange(event, { partition: number, offset, timestampMs });
    const deadLetter = isRejected() ? deadLetterOf(event, change) : null;
    partition.records.push({ change, time: event.time, deadLetter });
  }
}

const emptyPartition = (kind: Kind, name: string): Partition => ({
  kind,
  name,
  records: [],
  applied: 0,
  committed: 0,
  redeliverableFrom: 0,
  epoch: 0,
});

function recordCount(partitions: Map<string, Partition>): number {
  let count = 0;
  for (const { records } of partitions.values()) count += records.length;
  return count;
}

/** The partition of a key: a hash of its characters. */
function partitionOf(key: string, partitionCount: number): number {
  let sum = 0;
  for (const character of key) sum += character.charCodeAt(0);
  return sum % partitionCount;
}

function deadLetterOf({ id, kind, data, time }: Event, change: Change): DeadLetter {
  const subjects = [id];
  if (typeof data?.conversationId === 'string') subjects.push(data.conversationId);
  return { kind, change, subjects, publishedAt: time };
}

const parsed = new WeakMap<Event, Change>();

/** Each event is parsed once for all schedules; the engine never alters a change. */
function toChange(event: Event, position: Change['position']): Change {
  const change = parsed.get(event) ?? changeAt(event, position);
  parsed.set(event, change);
  return { ...change, position };
}
