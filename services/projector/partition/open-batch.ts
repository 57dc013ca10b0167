import { batchHeader, decompress } from '../../../shared/kafka/record-batch.ts';
import {
  type BatchContext,
  type Cursor,
  endOfRecord,
  type KafkaRecord,
  readRecord,
} from '../../../shared/kafka/record-format.ts';

/** The progress in a batch: the byte at which the next record begins, and the number of records before it. */
export type BatchPlace = { at: number; count: number };

/** A decompressed batch, whose records are decoded on demand. */
export type OpenBatch = {
  /** The memory that the decompressed records take besides the batch itself. */
  bytes: number;
  /** Reads up to `recordsMax` records of up to `bytesMax` bytes together, but at least one record. */
  read: (place: BatchPlace, recordsMax: number, bytesMax: number) => ReadRecords;
};

type ReadRecords = {
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
  const records = await decompress(bytes);
  const header = batchHeader(bytes);
  if (header.recordCount < 0) throw new RangeError('its number of records is negative');
  const isCopy = header.codec !== null;
  return {
    bytes: isCopy ? records.length : 0,
    read: (place, recordsMax, bytesMax) => {
      const left = header.recordCount - place.count;
      const probed = probe({ bytes: records, at: place.at }, Math.min(left, recordsMax), bytesMax);
      const isEnd = probed.count === left;
      // Records that are read in parts are copied, so that they do not keep the whole batch in memory. The caller keeps
      // the batch while it uses a record that is larger than the limit: a copy would take that memory twice.
      const isPart = place.at > 0 || !isEnd;
      const isWithinLimit = probed.end - place.at <= bytesMax;
      const cursor =
        isCopy && isPart && isWithinLimit
          ? { bytes: Buffer.from(records.subarray(place.at, probed.end)), at: 0 }
          : { bytes: records, at: place.at };
      const decoded = decode(cursor, { ...header, partition }, probed.count);
      const count = place.count + decoded.records.length;
      return {
        records: decoded.records,
        bytes: probed.end - place.at,
        place: { at: probed.end, count },
        isEnd,
        error: decoded.error ?? probed.error,
      };
    },
  };
}

/** Finds the end of the next records that fit into the limits, and counts them, without decoding them. */
function probe(cursor: Cursor, recordsMax: number, bytesMax: number) {
  const start = cursor.at;
  let count = 0;
  let end = start;
  try {
    while (count < recordsMax) {
      const next = endOfRecord(cursor);
      if (count > 0 && next - start > bytesMax) break;
      end = cursor.at = next;
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
