import { batchHeader, decompress } from '../../../shared/kafka/record-batch.ts';
import {
  type BatchContext,
  type Cursor,
  endOfRecord,
  type KafkaRecord,
  readRecord,
} from '../../../shared/kafka/record-format.ts';

/** The next record of a batch: the index of its first byte, and the number of records before it. */
export type BatchPlace = { index: number; count: number };

/** A decompressed batch, whose records are decoded on demand. */
export type OpenBatch = {
  /** The memory that the decompressed records take besides the batch itself. */
  bytes: number;
  /** Reads up to `recordsMax` records of up to `bytesMax` bytes together, but at least one record. */
  read: (place: BatchPlace, recordsMax: number, bytesMax: number) => ReadRecords;
};

/** The next records of a batch, and the state of the batch after them. */
export type ReadRecords = {
  records: KafkaRecord[];
  bytes: number;
  /** The place of the record after them. */
  place: BatchPlace;
  /** Whether the batch has no record after them. */
  isEnd: boolean;
  /** The error of the next record, which cannot be read; undefined if it can. */
  error: unknown;
};

/** Decompresses a batch. Rejects if that is impossible. */
export async function openBatch(partition: number, bytes: Buffer): Promise<OpenBatch> {
  const content = await decompress(bytes);
  const header = batchHeader(bytes);
  if (header.recordCount < 0) throw new RangeError('its number of records is negative');
  const isDecompressed = header.codec !== null;
  return {
    bytes: isDecompressed ? content.length : 0,
    read: (place, recordsMax, bytesMax) => {
      const unreadCount = header.recordCount - place.count;
      const unmeasured = { bytes: content, index: place.index };
      const measured = measure(unmeasured, Math.min(unreadCount, recordsMax), bytesMax);
      const isEnd = measured.count === unreadCount;
      const readBytes = measured.end - place.index;
      // Records that are read in parts are copied, so that they do not keep the whole batch in memory. The caller keeps
      // the batch while it uses a record that is larger than the limit: a copy would take that memory twice.
      const isPart = place.index > 0 || !isEnd;
      const isCopied = isDecompressed && isPart && readBytes <= bytesMax;
      const cursor = isCopied
        ? { bytes: Buffer.from(content.subarray(place.index, measured.end)), index: 0 }
        : { bytes: content, index: place.index };
      const decoded = decode(cursor, { ...header, partition }, measured.count);
      return {
        records: decoded.records,
        bytes: readBytes,
        place: { index: measured.end, count: place.count + decoded.records.length },
        isEnd,
        error: decoded.error ?? measured.error,
      };
    },
  };
}

/** Finds the end of the next records that fit into the limits, and counts them, without decoding them. */
function measure(cursor: Cursor, recordsMax: number, bytesMax: number) {
  const start = cursor.index;
  let count = 0;
  let end = start;
  try {
    while (count < recordsMax) {
      const recordEnd = endOfRecord(cursor);
      if (count > 0 && recordEnd - start > bytesMax) break;
      cursor.index = recordEnd;
      end = recordEnd;
      count += 1;
    }
    return { count, end };
  } catch (error) {
    return { count, end, error };
  }
}

function decode(cursor: Cursor, batch: BatchContext, count: number) {
  const records: KafkaRecord[] = [];
  try {
    while (records.length < count) records.push(readRecord(cursor, batch));
    return { records };
  } catch (error) {
    return { records, error };
  }
}
