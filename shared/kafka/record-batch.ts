import { batchBytesMax, decompressors } from './codecs.ts';

/** A record batch as a broker sent it, with the offsets that it spans and its undecoded bytes. */
export type RawBatch = { baseOffset: number; lastOffset: number; bytes: Buffer };

/** The bytes before the records of a batch. */
export const batchHeaderBytes = 61;

/** The codecs by their number in the attributes of a batch. */
const codecByNumber = [null, 'gzip', 'snappy', 'lz4', 'zstd'] as const;

/**
 * Whether a frame is a batch of record format v2 with its whole header. Brokers before Kafka 0.11 stored other formats.
 */
export const isRecordBatch = (frame: Buffer): boolean =>
  frame.length >= batchHeaderBytes && frame.readInt8(16) === 2;

/** The fields of a record batch's header, in record format v2. */
export type RecordBatchHeader = {
  /** The offset of the first record, as the broker has assigned it. */
  baseOffset: number;
  /** The offset of the last record, even if compaction has removed it. */
  lastOffset: bigint;
  /** Null if the records are not compressed; undefined if the number is unknown. */
  codec: (typeof codecByNumber)[number] | undefined;
  /** When the broker appended the batch, if this is the time of all its records; otherwise null. */
  appendTimestampMs: number | null;
  /** The batch belongs to a transaction, which may have been aborted. */
  isTransactional: boolean;
  /** The batch has only a control record: the end of a transaction. */
  isControl: boolean;
  /** The time of the first record. The others store their difference from it. */
  firstTimestampMs: number;
  maxTimestampMs: number;
  /** The producer of the transaction. */
  producerId: bigint;
  /** The number of remaining records; 0 once compaction has removed all of them. */
  recordCount: number;
};

/** Reads the header of a record batch. Throws a RangeError if the bytes are too few. */
export function batchHeader(bytes: Buffer): RecordBatchHeader {
  const attributes = bytes.readInt16BE(21);
  const maxTimestampMs = Number(bytes.readBigInt64BE(35));
  return {
    baseOffset: Number(bytes.readBigInt64BE(0)),
    lastOffset: bytes.readBigInt64BE(0) + BigInt(bytes.readInt32BE(23)),
    codec: codecByNumber[attributes & 0x07],
    appendTimestampMs: attributes & 0x08 ? maxTimestampMs : null,
    isTransactional: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    firstTimestampMs: Number(bytes.readBigInt64BE(27)),
    maxTimestampMs,
    producerId: bytes.readBigInt64BE(43),
    recordCount: bytes.readInt32BE(57),
  };
}

/** Kafka's value for an unknown leader epoch. It compares as earlier than every epoch. */
export const unknownEpoch = -1;

/**
 * The epoch of the leader that has appended a batch; it never falls along a log. A frame of another format has no
 * epoch.
 */
export const leaderEpochOf = (bytes: Buffer): number =>
  isRecordBatch(bytes) ? bytes.readInt32BE(12) : unknownEpoch;

/**
 * The number of records by the header of a batch, which may be damaged. Of another frame, the offsets that it spans.
 */
export function recordsIn({ baseOffset, lastOffset, bytes }: RawBatch): number {
  const span = lastOffset - baseOffset + 1;
  if (!isRecordBatch(bytes)) return span;
  return Math.min(span, Math.max(0, batchHeader(bytes).recordCount));
}

/** Whether the records of a batch must be decompressed. Otherwise they are a part of its bytes. */
export const isCompressed = (bytes: Buffer): boolean =>
  isRecordBatch(bytes) && (bytes.readInt16BE(21) & 0x07) !== 0;

/** Decompresses the records of a batch. Rejects if that is impossible, or if they take more than `batchBytesMax`. */
export async function decompress(bytes: Buffer): Promise<Buffer> {
  const magic = bytes.readInt8(16);
  if (magic !== 2) throw new Error(`its record format is ${magic}`);
  const { codec } = batchHeader(bytes);
  if (codec === undefined) throw new Error('its codec is unknown');
  const records = bytes.subarray(batchHeaderBytes);
  return codec === null ? records : decompressors[codec](records, batchBytesMax);
}
