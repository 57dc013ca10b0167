import {
  batchHeader,
  batchHeaderBytes,
  isCompressed,
  leaderEpochOf,
  type RawBatch,
} from '../../../shared/kafka/record-batch.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';
import { noHeaders } from '../events/headers.ts';
import type { Budget } from './budget.ts';
import { type BatchPlace, type OpenBatch, openBatch } from './open-batch.ts';

/**
 * The most records that are applied together. This limit bounds the duration of their work, and their memory if few
 * partitions have large shares. Half as many records cost MongoDB 11 % more; twice as many save 2 %, for 20 MB more.
 */
export const chunkRecordsMax = 1_000;

/** The memory of the objects for each queued batch, besides its bytes. */
const batchOverheadBytes = 400;

/** The next records of a partition, taken from its queue. The caller releases them once. */
export type Taken = {
  records: KafkaRecord[];
  /** When the first of them was fetched, in milliseconds of the monotonic clock. */
  fetchedMs: number;
  /** The offset after these records, and after the control records that follow. */
  nextOffset: number;
  /** The leader epoch of the last batch from which the worker took records; -1 without one. */
  leaderEpoch: number;
  /** Whether the records exceed their share of the memory. Their batch is then kept until `release`. */
  isLarge: boolean;
  /** Whether their batch has no more records. */
  isReadToEnd: boolean;
};

/** The fetched batches of one partition, in the order of the log. Each is decoded when it is the next. */
export type RecordQueue = {
  /**
   * Queues batches that have records. `nextOffset` is the offset after everything that was fetched with them.
   * `leaderEpoch` is the epoch of the control records after them.
   */
  push: (batches: RawBatch[], nextOffset: number, leaderEpoch?: number) => void;
  isEmpty: () => boolean;
  /** The size of the queued batches, compressed, and of a batch above its share whose last records are used. */
  bytes: () => number;
  /**
   * Takes the next records from `position` on, up to `chunkRecordsMax` and `chunkBytesMax`, but at least one. Replaces
   * records that cannot be decoded by one record with the error. Rejects if the process has no memory for the next
   * batch. The caller then tries again.
   */
  take: (position: number) => Promise<Taken>;
  /** Frees the decompressed first batch, unless the records taken from it are larger than their share. */
  releaseBatch: (taken?: Taken) => void;
  /** Frees the memory of records, and of their batch, above their share. Called once they are applied or given up. */
  release: (taken: Taken) => void;
  /** Empties the queue. A closed queue takes no further batches. */
  close: () => void;
};

/** A batch, or the control records after one. */
type Queued = {
  /** Null for control records. */
  batch: RawBatch | null;
  nextOffset: number;
  leaderEpoch: number;
  fetchedMs: number;
  /** The progress in the batch. */
  place: BatchPlace;
  /** The error of its next record, which cannot be decoded. */
  error?: unknown;
};

/** Taken records, and their bytes so far. */
type Filling = Taken & { bytes: number };

export type RecordQueueDeps = {
  partition: number;
  budget: Budget;
  /** The most bytes of decompressed records that are taken together. */
  chunkBytesMax: () => number;
};

/*
 * The life of a batch. Only the head, the first batch of the queue, is decompressed.
 *
 *   push ──→ queued ──take──→ decompressed ──take, up to its end──→ removed
 *               ↑                  │
 *               └───releaseBatch───┘      its memory goes back to the budget; the next take decompresses it again
 *
 * Records above their share of the memory keep their batch decompressed until `release`. A batch that cannot be
 * decoded yields one record with the error. `close` ends every state.
 */
export function createRecordQueue(deps: RecordQueueDeps): RecordQueue {
  const batches = createBatchList(deps.chunkBytesMax);
  let isClosed = false;
  const head = createHead(deps, () => isClosed);
  /** Removes the first batch. If its records are large, the batch stays decompressed until `release`. */
  const shift = (taken: Taken): void => {
    if (taken.isLarge) taken.isReadToEnd = true;
    else head.release();
    taken.nextOffset = batches.shift()?.nextOffset ?? taken.nextOffset;
  };
  /** Takes records of the first batch. Returns whether more may be taken after them. */
  const takeRecords = async (taken: Filling, first: Queued, batch: RawBatch, position: number) => {
    const bytesMax = deps.chunkBytesMax();
    taken.leaderEpoch = first.leaderEpoch;
    taken.fetchedMs = Math.min(taken.fetchedMs, first.fetchedMs);
    const isEnd = await readInto(taken, first, () => head.open(batch.bytes), position, bytesMax);
    taken.isLarge = taken.records.length > 0 && taken.bytes > bytesMax;
    if (isEnd) shift(taken);
    return isEnd || taken.records.length === 0;
  };

  /** Takes from the first batch. Returns whether more may be taken after it. */
  const takeFrom = async (taken: Filling, first: Queued, position: number): Promise<boolean> => {
    const { batch, error } = first;
    if (batch === null) {
      taken.leaderEpoch = first.leaderEpoch;
      shift(taken);
      return true;
    }
    const isNext = taken.records.length === 0;
    if (!isNext && (error !== undefined || !fits(batch, taken, deps.chunkBytesMax()))) return false;
    if (error === undefined) return takeRecords(taken, first, batch, position);
    takeUndecodable(deps.partition, taken, first, batch);
    shift(taken);
    return false;
  };
  return {
    push: (fetched, nextOffset, leaderEpoch = -1) => {
      if (!isClosed) batches.push(queuedOf(fetched, nextOffset, leaderEpoch));
    },
    isEmpty: () => batches.first() === undefined,
    bytes: batches.bytes,
    take: async (position) => {
      const taken = emptyAt(position);
      for (let first = batches.first(); first && !isClosed; first = batches.first()) {
        if (!(await takeFrom(taken, first, position))) break;
      }
      return taken;
    },
    releaseBatch: (taken) => {
      if (!taken?.isLarge) head.release();
    },
    release: (taken) => {
      if (taken.isLarge && taken.isReadToEnd) head.release();
      batches.release();
    },
    close: () => {
      isClosed = true;
      batches.clear();
      head.release();
    },
  };
}

/** The queued batches, and their bytes. A removed batch above its share is counted until `release`. */
function createBatchList(shareBytes: () => number) {
  const queue: Queued[] = [];
  let queuedBytes = 0;
  let keptBytes = 0;
  return {
    first: () => queue[0],
    bytes: () => queuedBytes + keptBytes,
    push: (added: Queued[]) => {
      for (const queued of added) {
        queue.push(queued);
        queuedBytes += bytesOf(queued);
      }
    },
    shift: (): Queued | undefined => {
      const first = queue.shift();
      if (!first) return undefined;
      queuedBytes -= bytesOf(first);
      const batchBytes = first.batch?.bytes.length ?? 0;
      if (batchBytes > shareBytes()) keptBytes += batchBytes;
      return first;
    },
    release: () => {
      keptBytes = 0;
    },
    clear: () => {
      queue.length = 0;
      queuedBytes = 0;
    },
  };
}

const bytesOf = ({ batch }: Queued): number => batchOverheadBytes + (batch?.bytes.length ?? 0);

const emptyAt = (position: number): Filling => ({
  records: [],
  fetchedMs: Infinity,
  nextOffset: position,
  leaderEpoch: -1,
  isLarge: false,
  isReadToEnd: false,
  bytes: 0,
});

function queuedOf(batches: RawBatch[], nextOffset: number, controlEpoch: number): Queued[] {
  const place = { at: 0, count: 0 };
  const fetchedMs = performance.now();
  const queued: Queued[] = batches.map((batch) => ({
    batch,
    nextOffset: batch.lastOffset + 1,
    leaderEpoch: leaderEpochOf(batch.bytes),
    fetchedMs,
    place,
  }));
  const end = queued.at(-1)?.nextOffset ?? 0;
  if (nextOffset > end) queued.push({ batch: null, nextOffset, leaderEpoch: controlEpoch, fetchedMs, place });
  return queued;
}

/**
 * Adds the next records of the first batch to the taken ones, from `position` on. Resolves to whether the batch is read
 * to its end.
 */
async function readInto(
  taken: Filling,
  first: Queued,
  open: () => Promise<OpenBatch>,
  position: number,
  bytesMax: number,
): Promise<boolean> {
  try {
    const opened = await open();
    const read = opened.read(first.place, chunkRecordsMax - taken.records.length, bytesMax - taken.bytes);
    first.place = read.place;
    first.error = read.error;
    taken.bytes += read.bytes;
    taken.nextOffset = Math.max(taken.nextOffset, (read.records.at(-1)?.position.offset ?? -1) + 1);
    // The first batch may begin before the position.
    for (const record of read.records) {
      if (record.position.offset >= position) taken.records.push(record);
    }
    return read.isEnd && read.error === undefined;
  } catch (error) {
    // Without memory, the records before this batch are taken now, and this batch by the next call.
    const isNoMemory = classifyStoreError(error).errorClass === 'no-memory';
    if (isNoMemory && taken.records.length === 0) throw error;
    if (!isNoMemory) first.error = error;
    return false;
  }
}

/** Takes one record with the error in place of the records of a batch. */
function takeUndecodable(partition: number, taken: Taken, first: Queued, batch: RawBatch): void {
  taken.records = [undecodable(partition, taken.nextOffset, batch, first.error)];
  taken.leaderEpoch = first.leaderEpoch;
  taken.fetchedMs = first.fetchedMs;
}

/** Keeps the first batch of a queue decompressed, within the budget. */
function createHead({ partition, budget }: RecordQueueDeps, isClosed: () => boolean) {
  let opened: { value: OpenBatch; release: () => void } | null = null;
  const release = () => {
    opened?.release();
    opened = null;
  };
  return {
    open: async (bytes: Buffer): Promise<OpenBatch> => {
      const load = () => openBatch(partition, bytes);
      opened ??= isCompressed(bytes) ? await budget(load) : { value: await load(), release: () => {} };
      const { value } = opened;
      if (isClosed()) release();
      return value;
    },
    release,
  };
}

/** Whether a whole batch fits into the limits together with the records before it. */
const fits = ({ bytes }: RawBatch, taken: Filling, bytesMax: number): boolean =>
  bytes.length >= batchHeaderBytes &&
  taken.records.length + batchHeader(bytes).recordCount <= chunkRecordsMax &&
  taken.bytes + bytes.length <= bytesMax;

/** Creates the record that replaces the records of a batch from an offset on, with the error. */
function undecodable(partition: number, from: number, batch: RawBatch, error: unknown): KafkaRecord {
  const { lastOffset, bytes } = batch;
  const offset = Math.max(from, batch.baseOffset);
  return {
    key: null,
    value: bytes,
    headers: noHeaders,
    position: { partition, offset, timestampMs: timestampMs(bytes) },
    undecodable: `the records of offsets ${offset} to ${lastOffset} cannot be decoded: ${errorMessage(error)}`,
  };
}

const timestampMs = (bytes: Buffer): number =>
  bytes.length >= batchHeaderBytes ? Math.max(0, batchHeader(bytes).maxTimestampMs) : 0;
