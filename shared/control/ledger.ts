import { Binary } from 'mongodb';
import type { Rejection } from './rejections.ts';
import type { TopicPartition } from './topic-partition.ts';

/*
 * The ledger of the records that were not applied: Invariant 13 in docs/internals/retention.md. These functions are
 * pure; ledger-store.ts reads and writes the spans.
 */

/** The place of a record in the log. */
export type RecordPlace = TopicPartition & { offset: number };

/** A record of the log. A topic that was created again has records with other timestamps at the same offsets. */
export type RecordKey = RecordPlace & { timestampMs: number };

/** The operator who purged a record, or the rule that erased it, and when. */
export type Purge = { by: string; at: Date };

/** A record that was not applied, or that was purged. */
export type LedgerRecord = RecordKey &
  Rejection & {
    /** The generations that lack its effect, in ascending order; empty if it was purged. */
    generations: number[];
    /** Whether its log is known to have lost it: no generation can read it there. */
    isLost: boolean;
    /** Null unless it was purged. */
    purged: Purge | null;
    /** The times of its first and its latest rejection. */
    firstAt: Date;
    lastAt: Date;
    /** How often it was rejected: a delivery or a redrive that fails again adds one. */
    count: number;
  };

/** The position of a lost record has this partition, which no log has. */
const lostPartition = -1;

/**
 * The position of a record. Offsets order records within a partition. If the log has lost a record, another record may
 * have its offset. The position then has a partition of its own, so the timestamps order the record.
 */
export function positionOf(
  record: Omit<RecordKey, 'topic'> & Pick<LedgerRecord, 'isLost'>,
): Omit<RecordKey, 'topic'> {
  const { partition, offset, timestampMs, isLost } = record;
  return { partition: isLost ? lostPartition : partition, offset, timestampMs };
}

/** An offset whose record an operator skips: projectors of these generations store a dead letter, and apply nothing. */
export type Skip = { offset: number; generations: number[]; why: string } & Purge;

/**
 * The ledger of 5,000 consecutive offsets of a partition, as it is stored. A topic full of bad records then takes few
 * documents, and each change of them is one compare-and-set.
 */
export type LedgerSpan = {
  /** `<topic>/<partition>/<from>`, with 15 digits, so the spans of a partition sort in the order of the log. */
  _id: string;
  topic: string;
  partition: number;
  /** The first of its offsets. */
  from: number;
  /** Changes with each write, and guards the next one. */
  revision: number;
  groups: RecordGroup[];
  skips: Skip[];
  /** The time of the latest rejection of an unapplied record. */
  lastAt: Date;
};

/** The records of a span that share everything except their offsets, timestamps and times. */
export type RecordGroup = Pick<LedgerRecord, 'reason' | 'detail' | 'generations' | 'isLost' | 'purged'> & {
  count: number;
  /** 24 bytes for each record, in the order of the offsets. */
  records: Binary;
};

/** A span with its records unpacked, for a change. */
export type OpenSpan = Omit<LedgerSpan, 'groups' | 'lastAt'> & {
  /** The keys are the offsets with the timestamps: `<offset>@<timestamp>`. */
  records: Map<string, LedgerRecord>;
};

/** At 24 bytes for each record, a span has 120 KB of records at most. */
export const offsetsPerSpan = 5_000;

/** A span keeps this many different details. Further ones become `otherDetails`, which keeps a span small. */
const detailsMax = 50;
export const otherDetails = 'several details, which are not kept apart';

/** The id of the span that an offset belongs to. */
export const spanIdOf = ({ topic, partition, offset }: RecordPlace): string =>
  `${topic}/${partition}/${String(offset - (offset % offsetsPerSpan)).padStart(15, '0')}`;

/** The id of a dead letter: `<topic>/<partition>/<offset>@<timestamp>`. */
export const recordId = ({ topic, partition, offset, timestampMs }: RecordKey): string =>
  `${topic}/${partition}/${offset}@${timestampMs}`;

/** The place of a record: `<topic>/<partition>/<offset>`. */
export const placeText = ({ topic, partition, offset }: RecordPlace): string =>
  `${topic}/${partition}/${offset}`;

/** The record that the id of a dead letter names. */
export function parseRecordId(id: string): RecordKey {
  const [topic = '', partition, position = ''] = id.split('/');
  const [offset, timestampMs] = position.split('@');
  return { topic, partition: Number(partition), offset: Number(offset), timestampMs: Number(timestampMs) };
}

const recordKeyOf = ({ offset, timestampMs }: Pick<RecordKey, 'offset' | 'timestampMs'>) =>
  `${offset}@${timestampMs}`;

/** The revision of a span that is not stored yet. */
export const unwritten = 0;

export function emptySpan(id: string): LedgerSpan {
  const [topic = '', partition = '', from = ''] = id.split('/');
  return {
    _id: id,
    topic,
    partition: Number(partition),
    from: Number(from),
    revision: unwritten,
    groups: [],
    skips: [],
    lastAt: new Date(0),
  };
}

export function openSpan({ groups, lastAt: _lastAt, ...span }: LedgerSpan): OpenSpan {
  const records = groups.flatMap((group) => unpack(span, group));
  return { ...span, records: new Map(records.map((record) => [recordKeyOf(record), record])) };
}

export function packSpan({ records, ...span }: OpenSpan): LedgerSpan {
  const grouped = Map.groupBy(records.values(), groupKeyOf);
  const groups = [...grouped.values()].map((groupRecords) => packGroup(span.from, groupRecords));
  const unapplied = [...records.values()].filter(({ purged }) => purged === null);
  const lastMs = unapplied.reduce((latest, { lastAt }) => Math.max(latest, lastAt.getTime()), 0);
  return { ...span, groups, lastAt: new Date(lastMs) };
}

/** The records of a group have this in common. */
const groupKeyOf = ({ reason, detail, generations, isLost, purged }: LedgerRecord): string =>
  JSON.stringify([reason, detail, generations, isLost, purged?.by]);

const bytesPerRecord = 24;

function packGroup(from: number, records: LedgerRecord[]): RecordGroup {
  const inOrder = records.toSorted((a, b) => a.offset - b.offset || a.timestampMs - b.timestampMs);
  const packed = Buffer.alloc(inOrder.length * bytesPerRecord);
  for (const [index, { offset, timestampMs, firstAt, lastAt, count }] of inOrder.entries()) {
    const at = index * bytesPerRecord;
    packed.writeUInt16BE(offset - from, at);
    packed.writeUInt16BE(Math.min(count, 0xffff), at + 2);
    packed.writeDoubleBE(timestampMs, at + 4);
    packed.writeUIntBE(firstAt.getTime(), at + 12, 6);
    packed.writeUIntBE(lastAt.getTime(), at + 18, 6);
  }
  const [first] = inOrder;
  if (!first) throw new Error('a group has at least one record');
  const { reason, detail, generations, isLost } = first;
  const latest = inOrder.reduce((a, b) => (Number(b.purged?.at) > Number(a.purged?.at) ? b : a), first);
  return {
    reason,
    detail,
    generations,
    isLost,
    purged: latest.purged,
    count: inOrder.length,
    records: new Binary(packed),
  };
}

function unpack(
  { topic, partition, from }: Pick<LedgerSpan, 'topic' | 'partition' | 'from'>,
  { reason, detail, generations, isLost, purged, count, records }: RecordGroup,
): LedgerRecord[] {
  const packed = Buffer.from(records.value());
  return Array.from({ length: count }, (_, index) => {
    const at = index * bytesPerRecord;
    return {
      topic,
      partition,
      offset: from + packed.readUInt16BE(at),
      timestampMs: packed.readDoubleBE(at + 4),
      reason,
      detail,
      generations,
      isLost,
      purged,
      firstAt: new Date(packed.readUIntBE(at + 12, 6)),
      lastAt: new Date(packed.readUIntBE(at + 18, 6)),
      count: packed.readUInt16BE(at + 2),
    };
  });
}

/** The record of a span, unapplied or purged. */
export const recordIn = (
  { records }: OpenSpan,
  key: Pick<RecordKey, 'offset' | 'timestampMs'>,
): LedgerRecord | undefined => records.get(recordKeyOf(key));

/** A record that was rejected. */
export type Reject = Rejection & Pick<RecordKey, 'offset' | 'timestampMs'>;

type RejectOptions = {
  generation: number;
  now: Date;
  /**
   * Ignores records that none of these generations lacks: a failed redrive must not open a record that another client
   * has closed in the meantime.
   */
  onlyIfLacking?: number[];
};

/** Adds rejected records for a generation. A purged record stays purged; a known record only raises its count. */
export function rejectRecords(
  span: OpenSpan,
  rejects: Reject[],
  { generation, now, onlyIfLacking }: RejectOptions,
): void {
  const { topic, partition, records } = span;
  const details = new Set([...records.values()].map(detailKey));
  for (const { offset, timestampMs, ...rejection } of rejects) {
    const key = recordKeyOf({ offset, timestampMs });
    const known = records.get(key);
    if (known?.purged) continue;
    const isLacking = (number: number) => known?.generations.includes(number) ?? false;
    if (onlyIfLacking && !onlyIfLacking.some(isLacking)) continue;
    const isKept = details.has(detailKey(rejection)) || details.size < detailsMax;
    if (isKept) details.add(detailKey(rejection));
    const { reason } = rejection;
    const detail = isKept ? rejection.detail : otherDetails;
    if (known) {
      const generations = withNumber(known.generations, generation);
      records.set(key, { ...known, reason, detail, generations, lastAt: now, count: known.count + 1 });
      continue;
    }
    records.set(key, {
      topic,
      partition,
      offset,
      timestampMs,
      reason,
      detail,
      generations: [generation],
      isLost: false,
      purged: null,
      firstAt: now,
      lastAt: now,
      count: 1,
    });
  }
}

const detailKey = ({ reason, detail }: Rejection) => JSON.stringify([reason, detail]);

const withNumber = (numbers: number[], number: number): number[] =>
  [...new Set([...numbers, number])].toSorted((a, b) => a - b);

/**
 * Closes records for a generation. Removes the records that no generation lacks any longer, and returns their ids.
 */
export function closeRecords(
  { records }: OpenSpan,
  generation: number,
  isClosed: (record: LedgerRecord) => boolean,
): string[] {
  const gone: string[] = [];
  for (const [key, record] of records) {
    if (!record.generations.includes(generation) || !isClosed(record)) continue;
    const generations = record.generations.filter((number) => number !== generation);
    if (generations.length > 0) records.set(key, { ...record, generations });
    else {
      records.delete(key);
      gone.push(recordId(record));
    }
  }
  return gone;
}

/** Purges records, so a later rejection of them stores nothing. Returns the number of records that were unapplied. */
export function purgeRecords({ records }: OpenSpan, ids: ReadonlySet<string>, purge: Purge): number {
  let count = 0;
  for (const [key, record] of records) {
    if (record.purged || !ids.has(recordId(record))) continue;
    records.set(key, { ...record, detail: '', generations: [], purged: purge });
    count += 1;
  }
  return count;
}

/** Whether a log still has a record. `unknown`: the leader of its partition does not answer. */
export type InLog = 'present' | 'lost' | 'unknown';

/**
 * Opens the records that generation `from` lacks for generation `to` as well, unless `to` can read them in the log. A
 * record that was found lost once stays lost, even if the log later has a record at its offset.
 */
export function carryOver(
  { records }: OpenSpan,
  { from, to }: { from: number; to: number },
  find: (record: LedgerRecord) => InLog,
): void {
  for (const [key, record] of records) {
    const inLog = record.isLost ? 'lost' : find(record);
    if (!record.generations.includes(from) || inLog === 'present') continue;
    records.set(key, {
      ...record,
      isLost: inLog === 'lost',
      generations: withNumber(record.generations, to),
    });
  }
}

/** Marks the records that a generation lacks as lost by their log, from an offset on. */
export function markLost({ records }: OpenSpan, generation: number, from: number): void {
  for (const [key, record] of records) {
    if (record.generations.includes(generation) && record.offset >= from)
      records.set(key, { ...record, isLost: true });
  }
}

/** Skips an offset for further generations. An existing skip keeps its operator, reason and time. */
export function skipOffset(span: OpenSpan, { generations, ...skip }: Skip): void {
  const existing = span.skips.find(({ offset }) => offset === skip.offset);
  const others = span.skips.filter(({ offset }) => offset !== skip.offset);
  const all = new Set([...(existing?.generations ?? []), ...generations]);
  span.skips = [...others, { ...skip, ...existing, generations: [...all].toSorted((a, b) => a - b) }];
}

/** Removes a generation from the skips of a span, from an offset on. */
export function removeGenerationFromSkips(span: OpenSpan, generation: number, from = 0): void {
  span.skips = span.skips.flatMap(({ generations, ...skip }) => {
    if (skip.offset < from) return [{ ...skip, generations }];
    const others = generations.filter((number) => number !== generation);
    return others.length > 0 ? [{ ...skip, generations: others }] : [];
  });
}

export const isEmptySpan = ({ groups, skips }: LedgerSpan): boolean =>
  groups.length === 0 && skips.length === 0;
