import {
  batchHeader,
  batchHeaderBytes,
  isCompressed,
  leaderEpochOf,
  type RawBatch,
  unknownEpoch,
} from '../../../shared/kafka/record-batch.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';
import { noHeaders } from '../events/headers.ts';
import type { LoadWithinBudget } from './budget.ts';
import { type BatchPlace, type OpenBatch, openBatch, type ReadRecords } from './open-batch.ts';

/**
 * The most records that are applied together. This limit bounds the duration of their work, and their memory if few
 * partitions have large shares. Half as many records cost MongoDB 11 % more; twice as many save 2 %, for 20 MB more.
 */
export const chunkRecordsMax = 1_000;

/** The memory of the objects that represent a queued batch, besides the bytes of the batch. */
const batchOverheadBytes = 400;

/** The next records of a partition, taken from its queue. The caller releases them once. */
export type TakenRecords = {
  records: KafkaRecord[];
  /** When the first record was fetched, in milliseconds of the monotonic clock. */
  fetchedMs: number;
  /** The offset after these records, and after the control records that follow. */
  nextOffset: number;
  /** The leader epoch of the last batch from which the queue took records, or `unknownEpoch`. */
  leaderEpoch: number;
  /** Whether the records exceed their share of the memory. Their batch then stays decompressed until `release`. */
  isLarge: boolean;
  /** Whether the batch of large records has no further records. */
  isReadToEnd: boolean;
};

/** The fetched batches of one partition, in the order of the log. A batch is decoded when it becomes the first one. */
export type RecordQueue = {
  /**
   * Queues batches that have records. `nextOffset` is the offset after everything that was fetched with them.
   * `leaderEpoch` is the epoch of the control records after them.
   */
  push: (batches: RawBatch[], nextOffset: number, leaderEpoch?: number) => void;
  isEmpty: () => boolean;
  /**
   * The compressed size of the queued batches. It includes a batch above its share that has left the queue, until its
   * last records are released.
   */
  bytes: () => number;
  /**
   * Takes the next records from `position` on, up to `chunkRecordsMax` and `chunkBytesMax`, but at least one. Replaces
   * records that cannot be decoded by one record with the error. Rejects if the process has no memory for the next
   * batch. The caller then retries.
   */
  take: (position: number) => Promise<TakenRecords>;
  /** Frees the decompressed first batch, unless `taken` are large records of it. */
  releaseBatch: (taken?: TakenRecords) => void;
  /** Frees the batch of large records. The partition calls this once it has applied or given up any taken records. */
  release: (taken: TakenRecords) => void;
  /** Empties the queue. A closed queue ignores further batches. */
  close: () => void;
};

/** A batch, or the control records after a batch. */
type QueuedBatch = {
  /** Null for control records. */
  batch: RawBatch | null;
  nextOffset: number;
  leaderEpoch: number;
  fetchedMs: number;
  /** The next record of the batch to take. */
  place: BatchPlace;
  /** The error of the next record, if it cannot be decoded. */
  error?: unknown;
};

/** The records that a call of `take` has taken so far, and their bytes. `position` is the offset of the first one. */
type TakenSoFar = TakenRecords & { bytes: number; position: number };

export type RecordQueueDeps = {
  partition: number;
  loadWithinBudget: LoadWithinBudget;
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
  const takeFromFirst = createTaker(deps, batches, head);
  return {
    push: (fetched, nextOffset, leaderEpoch = unknownEpoch) => {
      if (!isClosed) batches.push(toQueued(fetched, nextOffset, leaderEpoch));
    },
    isEmpty: () => batches.first() === undefined,
    bytes: batches.bytes,
    take: async (position) => {
      const taken = nothingTaken(position);
      let mayTakeMore = true;
      while (mayTakeMore && !isClosed) mayTakeMore = await takeFromFirst(taken);
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

/**
 * Returns a function that takes records from the first batch, if there is one. It resolves to whether more may be taken
 * after them.
 */
function createTaker(
  deps: RecordQueueDeps,
  batches: BatchList,
  head: Head,
): (taken: TakenSoFar) => Promise<boolean> {
  /** Removes the first batch. If its records are large, the batch stays decompressed until `release`. */
  const removeFirst = (taken: TakenRecords): void => {
    if (taken.isLarge) taken.isReadToEnd = true;
    else head.release();
    taken.nextOffset = batches.removeFirst()?.nextOffset ?? taken.nextOffset;
  };
  /** Takes records of the first batch. Resolves to whether more may be taken after them. */
  const takeRecords = async (taken: TakenSoFar, first: QueuedBatch, batch: RawBatch): Promise<boolean> => {
    const hadTaken = taken.records.length > 0;
    const bytesMax = deps.chunkBytesMax();
    taken.leaderEpoch = first.leaderEpoch;
    taken.fetchedMs = Math.min(taken.fetchedMs, first.fetchedMs);
    let read: ReadRecords;
    try {
      const opened = await head.open(batch.bytes);
      read = opened.read(first.place, chunkRecordsMax - taken.records.length, bytesMax - taken.bytes);
    } catch (error) {
      const isOutOfMemory = classifyStoreError(error).errorClass === 'no-memory';
      if (isOutOfMemory && !hadTaken) throw error;
      // The caller applies the records before this batch, which frees memory. The next call then takes this batch.
      if (isOutOfMemory) return false;
      first.error = error;
      return !hadTaken;
    }
    addRead(taken, first, read);
    taken.isLarge = taken.records.length > 0 && taken.bytes > bytesMax;
    const isReadToEnd = read.isEnd && read.error === undefined;
    if (isReadToEnd) removeFirst(taken);
    return isReadToEnd || taken.records.length === 0;
  };
  return async (taken) => {
    const first = batches.first();
    if (!first) return false;
    const { batch, error } = first;
    if (batch === null) {
      taken.leaderEpoch = first.leaderEpoch;
      removeFirst(taken);
      return true;
    }
    const canDecode = error === undefined;
    if (taken.records.length > 0) {
      const mayFollow = canDecode && fits(batch, taken, deps.chunkBytesMax());
      // The next call of `take` then begins with this batch.
      if (!mayFollow) return false;
    }
    if (canDecode) return takeRecords(taken, first, batch);
    takeUndecodable(deps.partition, taken, first, batch);
    removeFirst(taken);
    return false;
  };
}

/** The queued batches, in the order of the log. */
type BatchList = Pick<RecordQueue, 'bytes'> & {
  first: () => QueuedBatch | undefined;
  push: (added: QueuedBatch[]) => void;
  removeFirst: () => QueuedBatch | undefined;
  /** Called once the records of the removed batches are released. */
  release: () => void;
  clear: () => void;
};

/** Counts the bytes of the queued batches. A removed batch above its share counts until `release`. */
function createBatchList(shareBytes: () => number): BatchList {
  const queue: QueuedBatch[] = [];
  let queuedBytes = 0;
  let removedBytes = 0;
  return {
    first: () => queue[0],
    bytes: () => queuedBytes + removedBytes,
    push: (added) => {
      for (const queued of added) {
        queue.push(queued);
        queuedBytes += bytesOf(queued);
      }
    },
    removeFirst: () => {
      const first = queue.shift();
      if (!first) return undefined;
      queuedBytes -= bytesOf(first);
      const batchBytes = first.batch?.bytes.length ?? 0;
      if (batchBytes > shareBytes()) removedBytes += batchBytes;
      return first;
    },
    release: () => {
      removedBytes = 0;
    },
    clear: () => {
      queue.length = 0;
      queuedBytes = 0;
    },
  };
}

const bytesOf = ({ batch }: QueuedBatch): number => batchOverheadBytes + (batch?.bytes.length ?? 0);

const nothingTaken = (position: number): TakenSoFar => ({
  records: [],
  position,
  fetchedMs: performance.now(),
  nextOffset: position,
  leaderEpoch: unknownEpoch,
  isLarge: false,
  isReadToEnd: false,
  bytes: 0,
});

function toQueued(batches: RawBatch[], nextOffset: number, controlEpoch: number): QueuedBatch[] {
  const place: BatchPlace = { index: 0, count: 0 };
  const fetchedMs = performance.now();
  const queued: QueuedBatch[] = batches.map((batch) => ({
    batch,
    nextOffset: batch.lastOffset + 1,
    leaderEpoch: leaderEpochOf(batch.bytes),
    fetchedMs,
    place,
  }));
  const batchesEnd = queued.at(-1)?.nextOffset ?? 0;
  if (nextOffset > batchesEnd)
    queued.push({ batch: null, nextOffset, leaderEpoch: controlEpoch, fetchedMs, place });
  return queued;
}

/** Adds records of the first batch to the taken ones, and moves the place in the batch after them. */
function addRead(taken: TakenSoFar, first: QueuedBatch, read: ReadRecords): void {
  first.place = read.place;
  first.error = read.error;
  taken.bytes += read.bytes;
  const last = read.records.at(-1);
  if (last) taken.nextOffset = Math.max(taken.nextOffset, last.position.offset + 1);
  // The first batch may begin before the position.
  for (const record of read.records) {
    if (record.position.offset >= taken.position) taken.records.push(record);
  }
}

/** Takes one record with the error in place of the records of a batch. */
function takeUndecodable(partition: number, taken: TakenRecords, first: QueuedBatch, batch: RawBatch): void {
  taken.records = [undecodable(partition, taken.nextOffset, batch, first.error)];
  taken.leaderEpoch = first.leaderEpoch;
  taken.fetchedMs = first.fetchedMs;
}

/** The first batch of a queue. */
type Head = {
  /** Decompresses the batch, unless it is decompressed already. */
  open: (bytes: Buffer) => Promise<OpenBatch>;
  /** Frees the memory of the decompressed batch. */
  release: () => void;
};

/** Keeps the first batch of a queue decompressed, within the budget. */
function createHead({ partition, loadWithinBudget }: RecordQueueDeps, isClosed: () => boolean): Head {
  let opened: { value: OpenBatch; release: () => void } | null = null;
  const release = () => {
    opened?.release();
    opened = null;
  };
  return {
    open: async (bytes) => {
      opened ??= await openWithinBudget(partition, bytes, loadWithinBudget);
      const { value } = opened;
      if (isClosed()) release();
      return value;
    },
    release,
  };
}

async function openWithinBudget(partition: number, bytes: Buffer, loadWithinBudget: LoadWithinBudget) {
  if (isCompressed(bytes)) return loadWithinBudget(() => openBatch(partition, bytes));
  const value = await openBatch(partition, bytes);
  return { value, release: () => {} };
}

/** Whether all records of a batch fit into the limits, together with the records taken so far. */
const fits = ({ bytes }: RawBatch, taken: TakenSoFar, bytesMax: number): boolean =>
  bytes.length >= batchHeaderBytes &&
  taken.records.length + batchHeader(bytes).recordCount <= chunkRecordsMax &&
  taken.bytes + bytes.length <= bytesMax;

/** Creates the record with the error, which replaces the records of a batch from an offset on. */
function undecodable(partition: number, fromOffset: number, batch: RawBatch, error: unknown): KafkaRecord {
  const { lastOffset, bytes } = batch;
  const offset = Math.max(fromOffset, batch.baseOffset);
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
