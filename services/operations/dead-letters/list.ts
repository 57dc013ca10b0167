import type { Db } from 'mongodb';
import { type DeadLetter, deadLettersOf, purgeMarksOf } from '../../../shared/control/dead-letters.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { recordTime, recordTimeText } from '../../../shared/documents/instant.ts';
import { idSchema } from '../../../shared/documents/resources.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { decodeText } from '../../projector/events/bytes.ts';
import { type CountedDeadLetters, listCounted } from './counted.ts';
import { type NextStep, nextSteps, type RedriveSelectedDeps } from './redrive-selected.ts';
import { storeFilter } from './select.ts';
import type { DeadLetterFilter } from './selection.ts';

/** A dead letter for display: no headers and value, which may hold secrets and personal data. Instants: ISO 8601. */
export type DeadLetterDetails = {
  id: string;
  topic: string;
  partition: number;
  offset: number;
  /** The key if it is an id; else its size. */
  key: string;
  /** The id of the organization, or its size; null if the record names none. */
  orgId: string | null;
  reason: Rejection['reason'];
  detail: string;
  firstAt: string;
  lastAt: string;
  /** How often the record was dead-lettered. */
  count: number;
  /** The generation that dead-lettered the record last. */
  generation: number;
  /** The generations that lack the effect of the record. */
  generations: number[];
  /** Null if the record's timestamp is not a valid one. */
  recordAt: string | null;
  bytes: number;
  truncated: DeadLetter['truncated'];
};

/** The number of dead letters of a topic and a reason. Never purge a group: a later release may apply some of it. */
type GroupCount = { topic: string; reason: string; count: number; next: string };

/** The dead letters of a filter. */
export type DeadLetterList = {
  /** The stored dead letters. `next` is null if this release would refuse it, and another may apply it. */
  deadLetters: (DeadLetterDetails & { next: NextStep | null })[];
  /** Groups of alike dead letters that are only counted, the largest first. They have no key and no organization. */
  counted: CountedDeadLetters[];
  /** The number of all dead letters, listed or not. */
  total: number;
  /** All of them, by topic and reason. */
  counts: GroupCount[];
};

type Group = { _id: { topic: string; reason: string }; count: number };

/**
 * Lists the latest dead letters of a filter, the latest first; with `after`, those after that id, in the order of the
 * ids. Counts all that it matches.
 */
export async function listDeadLetters(
  deps: RedriveSelectedDeps,
  filter: DeadLetterFilter,
  { limit, after }: { limit: number; after?: string },
): Promise<DeadLetterList> {
  const wanted = storeFilter(filter);
  const collection = deadLettersOf(deps.control);
  const [letters, groups, countedOnly] = await Promise.all([
    collection
      .find(after === undefined ? wanted : { $and: [wanted, { _id: { $gt: after } }] })
      .project<Omit<DeadLetter, 'headers' | 'value'>>({ headers: 0, value: 0 })
      .sort(after === undefined ? { lastAt: -1, _id: -1 } : { _id: 1 })
      .limit(limit)
      .toArray(),
    collection.aggregate<Group>(countsPipeline(filter)).toArray(),
    listCounted(deps.control, { filter, limit }),
  ]);
  const counts = sumCounts(groups, countedOnly);
  const next = await nextSteps(deps, letters);
  return {
    deadLetters: letters.map((one) => ({
      ...deadLetterDetails(one, deps.config.TOPIC_PREFIX),
      next: next.get(one._id) ?? null,
    })),
    counted: countedOnly.slice(0, countedMax),
    total: counts.reduce((sum, { count }) => sum + count, 0),
    counts,
  };
}

/** Entries of counted dead letters in a list, at most. */
const countedMax = 50;

/** All dead letters by topic and reason: those that are stored, and those that are counted. */
function sumCounts(groups: Group[], countedOnly: CountedDeadLetters[]): GroupCount[] {
  const sums = new Map(
    groups.map(({ _id, count }) => [`${_id.topic}/${_id.reason}`, { ..._id, count, next: 'redrive' }]),
  );
  for (const { topic, reason, count } of countedOnly) {
    const key = `${topic}/${reason}`;
    const before = sums.get(key)?.count ?? 0;
    sums.set(key, { topic, reason, count: before + count, next: 'redrive' });
  }
  return [...sums.values()].toSorted((a, b) => compare(a.topic, b.topic) || compare(a.reason, b.reason));
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** It names every topic, and sorts, so that MongoDB reads the index `counts` alone, whatever is wanted. */
export const countsPipeline = (filter: DeadLetterFilter) => [
  { $match: { topic: { $gte: '' }, ...storeFilter(filter) } },
  { $sort: { topic: 1, reason: 1, _id: 1 } },
  { $group: { _id: { topic: '$topic', reason: '$reason' }, count: { $sum: 1 } } },
  { $sort: { _id: 1 } },
];

/** The part of a dead letter that may be displayed. */
export function deadLetterDetails(
  deadLetter: Omit<DeadLetter, 'headers' | 'value'>,
  prefix: string,
): DeadLetterDetails {
  const { topic, partition, offset, reason, detail, count, generation, generations } = deadLetter;
  return {
    id: deadLetter._id,
    topic,
    partition,
    offset,
    key: shownKey(deadLetter, prefix),
    orgId: deadLetter.orgId && shownId(deadLetter.orgId),
    reason,
    detail,
    firstAt: deadLetter.firstAt.toISOString(),
    lastAt: deadLetter.lastAt.toISOString(),
    count,
    generation,
    generations,
    recordAt: recordTime(deadLetter.timestampMs),
    bytes: deadLetter.bytes,
    truncated: deadLetter.truncated,
  };
}

export const deadLetterRows = (details: DeadLetterDetails): [name: string, value: string][] => [
  ['record', details.id],
  ['key', details.key],
  ['org', details.orgId ?? 'unknown'],
  ['timestamp', recordTimeText(details.recordAt)],
  ['size', counted(details.bytes, 'byte')],
  ...truncatedRows(details),
  ['reason', details.reason],
  ['detail', details.detail],
  ['stored', `${digits(details.count)}×, first ${details.firstAt}, last ${details.lastAt}`],
  ['generations', details.generations.join(', ')],
];

const truncatedRows = ({ truncated }: DeadLetterDetails): [name: string, value: string][] =>
  truncated
    ? [
        ['truncated', 'only the head of the record is kept; a redrive reads it from Kafka'],
        ['whole key', counted(truncated.keyBytes, 'byte')],
        ['all headers', counted(truncated.headersBytes, 'byte')],
        ['whole value', `${counted(truncated.valueBytes, 'byte')}, SHA-256 ${truncated.sha256}`],
      ]
    : [];

/** A key is shown if it is an id of its kind. Any other may be a name, an address or a secret. */
function shownKey({ topic, key }: Pick<DeadLetter, 'topic' | 'key'>, prefix: string): string {
  const bytes = buffer(key);
  if (bytes === null) return 'null';
  const kind = kindOfTopic(topic, prefix);
  const text = decodeText(bytes);
  const isId = kind !== null && text !== null && idSchema(kind).safeParse(text).success;
  return isId ? shownId(text) : sizeOf(bytes);
}

/** An id, unless it has characters that a name or an address has. */
const shownId = (id: string): string => (/^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : sizeOf(Buffer.from(id)));

const sizeOf = (bytes: Buffer) => `<${counted(bytes.length, 'byte')}>`;

/** Returns a dead letter with its bytes, which only `--raw` prints. Throws an error if there is none. */
export async function readDeadLetter(control: Db, id: string): Promise<DeadLetter> {
  const deadLetter = await deadLettersOf(control).findOne({ _id: id });
  if (deadLetter) return deadLetter;
  const mark = await purgeMarksOf(control).findOne({ _id: id });
  throw new Error(
    mark
      ? `${mark.by} purged the dead letter ${id} (${mark.reason}) at ${mark.at.toISOString()}`
      : `there is no dead letter ${id}: it was never stored, or its record has been applied`,
  );
}
