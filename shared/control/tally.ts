import { createHash } from 'node:crypto';
import type { Binary } from 'mongodb';
import { packOffsets, unpackOffsets } from './offsets.ts';
import type { Rejection } from './rejections.ts';

/** A tally stands for this many offsets of a partition, so each set of them takes 1,250 bytes at most. */
export const offsetsPerTally = 10_000;

/** Entries of a tally. Further details of a reason are counted in one entry of that reason, so a tally stays small. */
const entriesMax = 20;
const otherDetails = 'several details, which are not kept apart';

/**
 * The counted dead letters among 10,000 offsets of a partition: records of which only the offset is stored. It holds no
 * bytes and no ids of a record: Invariant 19 in docs/internals/retention.md.
 */
export type Tally = {
  /** `<topic>/<partition>/<from>`, with 15 digits, so that tallies of a partition are in the order of the log. */
  _id: string;
  topic: string;
  partition: number;
  /** The first of its offsets. */
  from: number;
  /** Changes with each write, and guards the next one. */
  revision: number;
  entries: TallyEntry[];
  /** The offsets that were purged; null if none was. A worker that rejects such a record again stores nothing. */
  purged: PurgedOffsets | null;
};

/** The counted dead letters of a tally with the same reason and detail. */
export type TallyEntry = Rejection & {
  /** The offsets of the records that each generation lacks. */
  lacking: { generation: number; offsets: Binary }[];
  /** How many records at least one generation lacks, and the first and the last offset of them. */
  count: number;
  first: number;
  last: number;
  /** The earliest and the latest timestamp of the records, in milliseconds. */
  earliestMs: number;
  latestMs: number;
  /** When the first record was counted, and when the last one. */
  firstAt: Date;
  lastAt: Date;
};

/** `latestMs`: the latest timestamp of the purged records. A topic that was created again has later ones. */
type PurgedOffsets = { offsets: Binary; latestMs: number; at: Date; by: string };

/** A tally with its offsets unpacked, for a change. */
export type OpenTally = Omit<Tally, 'entries' | 'purged'> & {
  entries: OpenEntry[];
  purged: (Omit<PurgedOffsets, 'offsets'> & { offsets: Set<number> }) | null;
};

export type OpenEntry = Omit<TallyEntry, 'lacking' | 'count' | 'first' | 'last'> & {
  /** By the number of the generation. */
  lacking: Map<number, Set<number>>;
};

/** A rejected record, as far as it is counted. */
export type CountedReject = Rejection & { offset: number; timestampMs: number };

const firstOffsetOf = (offset: number) => offset - (offset % offsetsPerTally);

/** The id of the tally that an offset belongs to. */
export const tallyIdOf = (topic: string, partition: number, offset: number): string =>
  `${topic}/${partition}/${String(firstOffsetOf(offset)).padStart(15, '0')}`;

/** Names the counted dead letters of a partition with the same reason and detail, in all its tallies. */
export function entryIdOf(
  { topic, partition }: Pick<Tally, 'topic' | 'partition'>,
  rejection: Rejection,
): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([rejection.reason, rejection.detail]))
    .digest('hex');
  return `${topic}/${partition}/counted@${hash.slice(0, 12)}`;
}

/**
 * The revision of a tally that is not stored. The first stored one is random, so that a tally that was removed and
 * stored again has no former revision.
 */
export const unwritten = 0;

export function emptyTally(id: string): Tally {
  const [topic = '', partition = '', from = ''] = id.split('/');
  return {
    _id: id,
    topic,
    partition: Number(partition),
    from: Number(from),
    revision: unwritten,
    entries: [],
    purged: null,
  };
}

export function openTally({ entries, purged, ...tally }: Tally): OpenTally {
  return {
    ...tally,
    entries: entries.map(({ lacking, count: _count, first: _first, last: _last, ...entry }) => ({
      ...entry,
      lacking: new Map(
        lacking.map(({ generation, offsets }) => [generation, unpackOffsets(offsets, tally.from)]),
      ),
    })),
    purged: purged && { ...purged, offsets: unpackOffsets(purged.offsets, tally.from) },
  };
}

/** The offsets of an entry's records, in their order. */
export function offsetsOf({ lacking }: Pick<OpenEntry, 'lacking'>): number[] {
  const all = new Set<number>();
  for (const offsets of lacking.values()) for (const offset of offsets) all.add(offset);
  return [...all].toSorted((a, b) => a - b);
}

export function packTally({ entries, purged, ...tally }: OpenTally): Tally {
  const packed = entries.flatMap(({ lacking, ...entry }): TallyEntry[] => {
    const all = offsetsOf({ lacking });
    const first = all[0];
    const last = all.at(-1);
    if (first === undefined || last === undefined) return [];
    const open = [...lacking].filter(([, offsets]) => offsets.size > 0);
    return [
      {
        ...entry,
        lacking: open.map(([generation, offsets]) => ({
          generation,
          offsets: packOffsets(offsets, tally.from),
        })),
        count: all.length,
        first,
        last,
      },
    ];
  });
  const purgedOffsets = purged && { ...purged, offsets: packOffsets(purged.offsets, tally.from) };
  return { ...tally, entries: packed, purged: purgedOffsets };
}

/** Whether the record at an offset was purged. A later record is one of a topic that was created again. */
export const isPurged = ({ purged }: OpenTally, offset: number, timestampMs: number): boolean =>
  purged !== null && timestampMs <= purged.latestMs && purged.offsets.has(offset);

/** The entry that counts the record at an offset, for any generation. */
export const entryWith = ({ entries }: OpenTally, offset: number): OpenEntry | undefined =>
  entries.find(({ lacking }) => [...lacking.values()].some((offsets) => offsets.has(offset)));

/** Counts rejected records for a generation. A record that is counted already stays in its entry, and counts once. */
export function countRejects(
  tally: OpenTally,
  rejects: CountedReject[],
  { generation, now }: { generation: number; now: Date },
): void {
  for (const { offset, timestampMs, reason, detail } of rejects) {
    if (isPurged(tally, offset, timestampMs)) continue;
    const entry = entryWith(tally, offset) ?? entryFor(tally, { reason, detail }, timestampMs, now);
    const offsets = entry.lacking.get(generation) ?? new Set();
    entry.lacking.set(generation, offsets.add(offset));
    entry.earliestMs = Math.min(entry.earliestMs, timestampMs);
    entry.latestMs = Math.max(entry.latestMs, timestampMs);
    entry.lastAt = now;
  }
}

function entryFor(
  tally: OpenTally,
  { reason, detail }: Rejection,
  timestampMs: number,
  now: Date,
): OpenEntry {
  const find = (text: string) => tally.entries.find((one) => one.reason === reason && one.detail === text);
  const isFull = tally.entries.length >= entriesMax;
  const known = find(detail) ?? (isFull ? find(otherDetails) : undefined);
  if (known) return known;
  const entry: OpenEntry = {
    reason,
    detail: isFull ? otherDetails : detail,
    lacking: new Map(),
    earliestMs: timestampMs,
    latestMs: timestampMs,
    firstAt: now,
    lastAt: now,
  };
  tally.entries.push(entry);
  return entry;
}

/** Closes the records at some offsets for one generation, or for all. */
export function closeOffsets(tally: OpenTally, offsets: Iterable<number>, generation?: number): void {
  const closed = [...offsets];
  for (const { lacking } of tally.entries)
    for (const [number, open] of lacking)
      if (generation === undefined || number === generation) for (const offset of closed) open.delete(offset);
}

/** Purges the records at some offsets: they are counted no more, and a later rejection of them stores nothing. */
export function purgeOffsets(tally: OpenTally, offsets: number[], purge: { at: Date; by: string }): void {
  const latestMs = Math.max(
    tally.purged?.latestMs ?? -Infinity,
    ...tally.entries.map((entry) => entry.latestMs),
  );
  const before = tally.purged?.offsets ?? new Set<number>();
  tally.purged = { ...purge, latestMs, offsets: new Set([...before, ...offsets]) };
  closeOffsets(tally, offsets);
}
