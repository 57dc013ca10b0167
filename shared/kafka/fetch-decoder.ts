import { partitionKey } from '../control/topic-partition.ts';
import {
  createErrorFromCode,
  type ProtocolError,
  topicAuthorizationFailed,
  topicsRefused,
} from './protocol-errors.ts';
import {
  batchHeader,
  batchHeaderBytes,
  isRecordBatch,
  leaderEpochOf,
  type RawBatch,
  type RecordBatchHeader,
  unknownEpoch,
} from './record-batch.ts';
import { readRecord } from './record-format.ts';

/** The internal parts of kafkajs that decode Fetch responses. */
export type FetchInternals = { fetch: FetchApi; Decoder: new (bytes: Buffer) => Decoder };

/** The Fetch API of kafkajs. */
type FetchApi = { protocol: (options: { version: number }) => (request: FetchRequest) => FetchCall };
type FetchRequest = { topics: { topic: string; partitions: { partition: number; fetchOffset: string }[] }[] };
type FetchCall = { request: unknown; requestTimeout: number; response: FetchResponse };
type FetchResponse = {
  decode: (bytes: Buffer) => Promise<FetchData>;
  parse: (data: FetchData) => Promise<FetchData>;
};
type FetchData = {
  clientSideThrottleTime: number;
  responses: { topicName: string; partitions: PartitionData[] }[];
};
type PartitionData = {
  partition: number;
  errorCode: number;
  highWatermark: string;
  abortedTransactions: [];
  preferredReadReplica: number;
  messages: Message[];
};

/**
 * The one message that kafkajs gets for a whole record batch. kafkajs continues after its offset, the last one of the
 * batch. `handleBatch` takes the batch out again.
 */
export type BatchMessage = { offset: string; batch: RawBatch };
/** Stands for a partition that the broker does not deliver from this offset. */
export type ErrorMessage = { offset: string; error: ProtocolError };
/** The message of each requested partition if a quota throttles the client, so that the broker delivers nothing. */
export type ThrottleMessage = { offset: string; throttledMs: number };
/**
 * A control record, of which kafkajs uses only the offset. `leaderEpoch` is the epoch of the batch that it stands for.
 */
type EndMarker = { offset: string; isControlRecord: true; key: null; leaderEpoch: number };
export type Message = BatchMessage | ErrorMessage | ThrottleMessage | EndMarker;

type Decoder = {
  readInt16: () => number;
  readInt32: () => number;
  readInt64: () => bigint;
  readString: () => string;
  readBytes: (length: number) => Buffer;
  readArray: <T>(read: (decoder: Decoder) => T) => T[];
};

/** The latest version that kafkajs supports. Every broker that the projector accepts (2.8 or later) supports it too. */
const fetchVersion = 11;

/**
 * Replaces the decoder of Fetch responses. kafkajs gets one message for each record batch, and the projector decodes a
 * batch when it applies it. The decoder of kafkajs itself has five faults:
 *
 * - it keeps everything decompressed in memory
 * - it takes quadratic time for the headers of a record
 * - it delivers records of overlapping aborted transactions
 * - it refetches forever a batch that compaction has emptied
 * - it rejects the whole response if it cannot decode one batch, or if the broker cannot read one partition
 */
export function patchFetch(kafkajs: FetchInternals): void {
  const { fetch } = kafkajs;
  const protocol = fetch.protocol.bind(fetch);
  fetch.protocol = ({ version }) => {
    if (version !== fetchVersion)
      throw new Error(
        `the brokers offer Fetch up to version ${version}; the projector needs version ${fetchVersion} (Kafka 2.8)`,
      );
    const createCall = protocol({ version });
    return (request) => {
      const call = createCall(request);
      const response: FetchResponse = {
        decode: (bytes) => decodeResponse(kafkajs, bytes, request),
        parse: async (data) => {
          requirePermission(data);
          const parsed = await call.response.parse(data);
          return withoutEmpty(parsed);
        },
      };
      return { ...call, response };
    };
  };
}

/**
 * Throws an error that names the topics which this client may not read. A missing right ends a projector, because no
 * projector starts without it.
 */
function requirePermission(data: FetchData): void {
  const refused = data.responses.filter(({ partitions }) =>
    partitions.some(({ errorCode }) => errorCode === topicAuthorizationFailed),
  );
  if (refused.length > 0) throw topicsRefused(refused.map(({ topicName }) => topicName));
}

/** Decodes a Fetch response. The decoders of kafkajs describe the format. */
async function decodeResponse(
  parts: FetchInternals,
  bytes: Buffer,
  request: FetchRequest,
): Promise<FetchData> {
  const decoder = new parts.Decoder(bytes);
  const clientSideThrottleTime = decoder.readInt32();
  const errorCode = decoder.readInt16();
  // The id of a fetch session, which kafkajs does not use.
  decoder.readInt32();
  const requested = requestedOffsets(request);
  const responses = decoder.readArray(() => {
    const topicName = decoder.readString();
    return { topicName, partitions: decoder.readArray(() => decodePartition(decoder, topicName, requested)) };
  });
  if (responses.length > 0) return { clientSideThrottleTime, responses };
  const messagesAt = (offset: string): Message[] => {
    if (errorCode !== 0) return errorMessages(offset, errorCode);
    return clientSideThrottleTime > 0 ? [{ offset, throttledMs: clientSideThrottleTime }] : [];
  };
  return { clientSideThrottleTime, responses: responsesOf(request, messagesAt) };
}

/**
 * The requested offset of each partition, by `<topic>/<partition>`. A topic may have several entries in a request:
 * kafkajs shuffles the partitions of all topics, and joins only neighbors of one topic.
 */
function requestedOffsets({ topics }: FetchRequest): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  for (const { topic, partitions } of topics) {
    for (const { partition, fetchOffset } of partitions)
      offsets.set(partitionKey({ topic, partition }), Number(fetchOffset));
  }
  return offsets;
}

/**
 * The response to a request whose answer has no partitions. If a client exceeds its quota, a broker answers only with
 * the time to wait. Each partition gets the messages that say why.
 */
const responsesOf = (
  { topics }: FetchRequest,
  messagesAt: (offset: string) => Message[],
): FetchData['responses'] =>
  topics.map(({ topic, partitions }) => ({
    topicName: topic,
    partitions: partitions.map(({ partition, fetchOffset }) => ({
      partition,
      errorCode: 0,
      highWatermark: '-1',
      abortedTransactions: [],
      preferredReadReplica: -1,
      messages: messagesAt(fetchOffset),
    })),
  }));

/** The errors of a broker that does not lead a partition, or not yet. */
const leaderErrors: ReadonlySet<string> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
]);
export const isLeaderError = (type: string): boolean => leaderErrors.has(type);

/** Kafka's code for a batch that cannot be read. */
const corruptMessage = 2;

function decodePartition(decoder: Decoder, topic: string, requested: ReadonlyMap<string, number>) {
  // The order of the reads is the format.
  const partition = decoder.readInt32();
  const errorCode = decoder.readInt16();
  const highWatermark = decoder.readInt64().toString();
  // The last stable offset, then the log start offset.
  decoder.readBytes(16);
  const aborted = decoder.readArray(() => ({
    producerId: decoder.readInt64(),
    firstOffset: decoder.readInt64(),
  }));
  const preferredReadReplica = decoder.readInt32();
  const records = decoder.readBytes(Math.max(0, decoder.readInt32()));
  const key = partitionKey({ topic, partition });
  const fetchOffset = requested.get(key);
  if (fetchOffset === undefined)
    throw new Error(`a broker answers a fetch of ${key}, which was not requested`);
  // The messages are already filtered, so kafkajs must not filter them again.
  const fields = { partition, highWatermark, abortedTransactions: [] as [], preferredReadReplica };
  // A refused topic fails the response: `requirePermission`.
  if (errorCode === topicAuthorizationFailed) return { ...fields, errorCode, messages: [] };
  if (errorCode !== 0)
    return { ...fields, errorCode: 0, messages: errorMessages(String(fetchOffset), errorCode) };
  try {
    return { ...fields, errorCode, messages: messagesOf(splitBatches(records, fetchOffset), aborted) };
  } catch {
    // A control batch cannot be read, so it is unknown whether it ends an aborted transaction.
    return { ...fields, errorCode: 0, messages: errorMessages(String(fetchOffset), corruptMessage) };
  }
}

const errorMessages = (offset: string, errorCode: number): Message[] => [
  { offset, error: createErrorFromCode(errorCode) },
];

/** A frame begins with its base offset, its length without these two fields, an epoch or a checksum, and its format. */
const frameLengthAt = 8;
const frameContentAt = 12;
const frameFormatAt = 16;
const frameBytes = 17;

/**
 * Splits the bytes of a partition into batches. A frame of another format becomes a batch of one offset. If a frame
 * cannot be read, the remaining bytes become a batch of one offset, which cannot be decoded. A batch that the size
 * limit has truncated is left out, because a later fetch returns it whole.
 */
function splitBatches(records: Buffer, fetchOffset: number): RawBatch[] {
  const batches: RawBatch[] = [];
  let start = 0;
  while (records.length - start >= frameBytes) {
    const end = frameEnd(records, start);
    if (end !== null && end > records.length) break;
    // Copied, because a queued batch must not keep the response of all partitions in memory.
    const bytes = Buffer.allocUnsafeSlow((end ?? records.length) - start);
    records.copy(bytes, 0, start);
    if (end === null) {
      const last = batches.at(-1);
      const nextOffset = last ? Math.max(fetchOffset, last.lastOffset + 1) : fetchOffset;
      return [...batches, { baseOffset: nextOffset, lastOffset: nextOffset, bytes }];
    }
    const baseOffset = Number(bytes.readBigInt64BE(0));
    const lastOffset = isRecordBatch(bytes) ? Number(batchHeader(bytes).lastOffset) : baseOffset;
    batches.push({ baseOffset, lastOffset, bytes });
    start = end;
  }
  return batches;
}

/** The end of the frame that starts at `start`; null if its header cannot be read. */
function frameEnd(bytes: Buffer, start: number): number | null {
  const end = start + frameContentAt + bytes.readInt32BE(start + frameLengthAt);
  const headerBytes = bytes.readInt8(start + frameFormatAt) < 2 ? frameBytes : batchHeaderBytes;
  return end - start < headerBytes ? null : end;
}

/**
 * Returns a message for each batch with records, except those of aborted transactions. If the last batch has none, a
 * control record with its last offset stands for it, because kafkajs continues after the last message.
 */
function messagesOf(batches: RawBatch[], aborted: AbortedTransaction[]): Message[] {
  const messages: Message[] = [];
  const isAborted = createAbortFilter(aborted);
  let lastOffset = -1;
  let leaderEpoch = unknownEpoch;
  for (const batch of batches) {
    lastOffset = batch.lastOffset;
    leaderEpoch = leaderEpochOf(batch.bytes);
    if (hasRecords(batch, isAborted)) messages.push({ offset: String(lastOffset), batch });
  }
  if (lastOffset > Number(messages.at(-1)?.offset ?? -1))
    messages.push({ offset: String(lastOffset), isControlRecord: true, key: null, leaderEpoch });
  return messages;
}

function hasRecords({ bytes }: RawBatch, isAborted: AbortFilter): boolean {
  // A frame of another format counts as one with records, because its records must become dead letters.
  if (!isRecordBatch(bytes)) return true;
  const header = batchHeader(bytes);
  const hasControlRecord = header.isControl && bytes.length > batchHeaderBytes;
  const cursor = { bytes, index: batchHeaderBytes };
  const firstKey = hasControlRecord ? readRecord(cursor, { ...header, partition: 0 }).key : null;
  return !isAborted(header, firstKey) && !header.isControl && header.recordCount !== 0;
}

/** The fields of a record batch's header that the filter needs. */
export type BatchHeader = Pick<
  RecordBatchHeader,
  'lastOffset' | 'producerId' | 'isTransactional' | 'isControl'
>;

type AbortedTransaction = { producerId: bigint; firstOffset: bigint };

/** Decides from a batch's header and the key of its first record whether its transaction was aborted. */
type AbortFilter = (batch: BatchHeader, firstKey: Buffer | null | undefined) => boolean;

/**
 * Returns a function to call for each batch, in the order of the log. As the Java consumer does, it decides whether the
 * transaction of the batch was aborted. Brokers list aborted transactions in the order in which they ended, so they are
 * sorted by their first offset.
 */
export function createAbortFilter(aborted: AbortedTransaction[]): AbortFilter {
  const upcoming = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  const abortedProducers = new Set<bigint>();
  return (batch, firstKey) => {
    while (upcoming[0] && upcoming[0].firstOffset <= batch.lastOffset) {
      abortedProducers.add(upcoming[0].producerId);
      upcoming.shift();
    }
    // The key of a control record has two bytes of version and two bytes of type; type 0 is an abort.
    if (batch.isControl && firstKey && firstKey.length >= 4 && firstKey.readInt16BE(2) === 0)
      abortedProducers.delete(batch.producerId);
    return batch.isTransactional && abortedProducers.has(batch.producerId);
  };
}

/** Omits empty partitions. kafkajs would turn each into a batch and a heartbeat, several times a second. */
const withoutEmpty = (data: FetchData): FetchData => ({
  ...data,
  responses: data.responses.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.filter(
      ({ messages, preferredReadReplica }) => messages.length > 0 || preferredReadReplica !== -1,
    ),
  })),
});
