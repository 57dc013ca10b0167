import { Binary, type Collection, type Db } from 'mongodb';
import type { Producer } from 'kafkajs';
import type { BusRecord, Rejection } from '../events/change.ts';

/** A record that could not be applied, as kept for an operator. `value` is raw: redact it wherever it is shown. */
export type DeadLetter = {
  /** `<topic>/<partition>/<offset>` */
  _id: string;
  topic: string;
  partition: number;
  offset: number;
  key: Binary | null;
  value: Binary | null;
  headers: Record<string, string>;
  /** The record's own time. */
  timestamp: Date;
  reason: Rejection['reason'];
  detail: string;
  /** When it was first set aside. */
  time: Date;
  generation: number;
};

export type Rejected = { record: BusRecord; rejection: Rejection };

export const deadLettersOf = (control: Db): Collection<DeadLetter> => control.collection('dead_letters');
export const deadLetterTopic = (prefix: string) => `${prefix}dead-letters`;

/**
 * Keeps rejected records of one topic: first in the dead-letter topic, then in the control database, which
 * remembers that both are done. Kept before the offset is committed, so that none is ever lost; a record that
 * comes again is kept once.
 */
export async function keepDeadLetters(
  deps: { control: Db; producer: Producer; prefix: string; generation: number; now: () => Date },
  topic: string,
  rejected: Rejected[],
): Promise<number> {
  if (rejected.length === 0) return 0;
  const letters = rejected.map((item) => letter(deps, topic, item));
  const collection = deadLettersOf(deps.control);
  const known = await collection
    .find({ _id: { $in: letters.map(({ _id }) => _id) } }, { projection: { _id: 1 } })
    .toArray();
  const ids = new Set(known.map(({ _id }) => _id));
  const fresh = letters.filter(({ _id }) => !ids.has(_id));
  if (fresh.length === 0) return 0;
  await deps.producer.send({ topic: deadLetterTopic(deps.prefix), messages: fresh.map(message) });
  await collection.bulkWrite(
    fresh.map(({ _id, ...rest }) => ({
      updateOne: { filter: { _id }, update: { $setOnInsert: rest }, upsert: true },
    })),
    { ordered: false },
  );
  return fresh.length;
}

function letter(
  { generation, now }: { generation: number; now: () => Date },
  topic: string,
  { record, rejection }: Rejected,
): DeadLetter {
  const { partition, offset, timestampMs } = record.position;
  const headers = Object.entries(record.headers).map(([name, value]) => [
    name,
    String([value].flat()[0] ?? ''),
  ]);
  return {
    _id: `${topic}/${partition}/${offset}`,
    topic,
    partition,
    offset,
    key: record.key && new Binary(record.key),
    value: record.value && new Binary(record.value),
    headers: Object.fromEntries(headers) as Record<string, string>,
    timestamp: new Date(timestampMs),
    ...rejection,
    time: now(),
    generation,
  };
}

const message = (item: DeadLetter) => ({
  key: item.key && Buffer.from(item.key.buffer),
  value: item.value && Buffer.from(item.value.buffer),
  headers: {
    ...item.headers,
    'dead-letter-topic': item.topic,
    'dead-letter-partition': String(item.partition),
    'dead-letter-offset': String(item.offset),
    'dead-letter-reason': item.reason,
    'dead-letter-detail': item.detail,
    'dead-letter-time': item.time.toISOString(),
  },
});
