import type { RawBatch } from '../../shared/kafka/record-batch.ts';
import { varint } from '../../shared/kafka/record-format.ts';

/** A record batch as a broker stores it in its log. */
export type ExampleBatch = {
  baseOffset: number;
  /** The last offset of the batch as written; compaction does not change it. */
  lastOffset: number;
  /** The remaining records. The headers are in Kafka's format, with their number. */
  records: { offset: number; key?: string; value?: Buffer; headers?: Buffer }[];
  /** The number of a codec of Kafka, and the records that it compressed. */
  compressed?: { codec: number; by: (records: Buffer) => Buffer };
  producerId?: number;
  /** The epoch of the leader that appended the batch; 0 by default. */
  leaderEpoch?: number;
  isTransactional?: boolean;
  /** Makes it a control batch that ends its producer's transaction. */
  ends?: 'commit' | 'abort';
};

export type ExamplePartition = {
  partition?: number;
  errorCode?: number;
  highWatermark?: number;
  preferredReadReplica?: number;
  bytes: Buffer;
};

/** The bytes of consecutive record batches, in record format v2. */
export const batchBytes = (...batches: ExampleBatch[]): Buffer => Buffer.concat(batches.map(oneBatch));

/** A batch as the projector queues it. */
export const rawBatch = (batch: ExampleBatch): RawBatch => ({
  baseOffset: batch.baseOffset,
  lastOffset: batch.lastOffset,
  bytes: oneBatch(batch),
});

/** The bytes of a Fetch response with one topic, `t`, in version 11. */
export function responseBytes(...partitions: ExamplePartition[]): Buffer {
  return Buffer.concat([
    int32(7),
    // The fetch session.
    ...[int16(0), int32(0)],
    int32(1),
    int16(1),
    Buffer.from('t'),
    int32(partitions.length),
    ...partitions.map(onePartition),
  ]);
}

/** The bytes of a Fetch response without topics, in version 11. */
export const emptyResponseBytes = (errorCode: number): Buffer =>
  Buffer.concat([int32(0), int16(errorCode), int32(0), int32(0)]);

/** One uncompressed message in message format v1, which precedes record batches. */
export function oldMessageBytes(offset: number, key: string): Buffer {
  const content = [int8(1), int8(0), int64(0), int32(key.length), Buffer.from(key), int32(-1)];
  const message = Buffer.concat([int32(0), ...content]);
  return Buffer.concat([int64(offset), int32(message.length), message]);
}

function onePartition(example: ExamplePartition): Buffer {
  const { partition = 0, errorCode = 0, highWatermark = 1_000, bytes } = example;
  return Buffer.concat([
    int32(partition),
    int16(errorCode),
    int64(highWatermark),
    int64(highWatermark),
    // The start of the log.
    int64(0),
    // Null: no transaction is aborted.
    int32(-1),
    int32(example.preferredReadReplica ?? -1),
    int32(bytes.length),
    bytes,
  ]);
}

function oneBatch({ baseOffset, lastOffset, ends, ...batch }: ExampleBatch): Buffer {
  const control = ends ? 0x20 : 0;
  const transactional = ends || batch.isTransactional ? 0x10 : 0;
  const records = Buffer.concat(
    batch.records.map(({ offset, key = 'key', value, headers }) =>
      record(offset - baseOffset, ends ? controlKey(ends) : Buffer.from(key), value, headers),
    ),
  );
  const { codec = 0, by = (bytes: Buffer) => bytes } = batch.compressed ?? {};
  const content = Buffer.concat([
    int32(batch.leaderEpoch ?? 0),
    int8(2),
    int32(0),
    int16(codec | control | transactional),
    int32(lastOffset - baseOffset),
    int64(0),
    int64(0),
    int64(batch.producerId ?? -1),
    int16(0),
    int32(0),
    int32(batch.records.length),
    by(records),
  ]);
  return Buffer.concat([int64(baseOffset), int32(content.length), content]);
}

const controlKey = (ends: 'commit' | 'abort') => Buffer.concat([int16(0), int16(ends === 'abort' ? 0 : 1)]);

function record(
  offsetDelta: number,
  key: Buffer,
  value: Buffer = Buffer.from('value'),
  headers: Buffer = varint(0),
): Buffer {
  const content = Buffer.concat([
    int8(0),
    varint(0),
    varint(offsetDelta),
    varint(key.length),
    key,
    varint(value.length),
    value,
    headers,
  ]);
  return Buffer.concat([varint(content.length), content]);
}

const int8 = (value: number) => Buffer.from([value]);
const int16 = (value: number) => written(2, (buffer) => buffer.writeInt16BE(value));
const int32 = (value: number) => written(4, (buffer) => buffer.writeInt32BE(value));
const int64 = (value: number) => written(8, (buffer) => buffer.writeBigInt64BE(BigInt(value)));

function written(bytes: number, write: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.alloc(bytes);
  write(buffer);
  return buffer;
}
