import type { KafkaMessage } from 'kafkajs';

/** The internal parts of kafkajs that decode Fetch responses. */
export type FetchParts = {
  fetch: FetchApi;
  Decoder: new (bytes: Buffer) => Decoder;
  decodeRecordBatch: (decoder: Decoder) => Promise<{ records: Message[] }>;
  decodeMessageSet: (decoder: Decoder, bytes: number) => Promise<Message[]>;
};

/** The Fetch API of kafkajs: the supported versions, and their protocols. */
type FetchApi = {
  versions: string[];
  protocol: (options: { version: number }) => (request: object) => Fetch;
};
type Fetch = { request: unknown; requestTimeout: number; response: FetchResponse };
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

type Message = KafkaMessage & { isControlRecord?: boolean };
type Decoder = {
  readInt16: () => number;
  readInt32: () => number;
  readInt64: () => bigint;
  readString: () => string;
  readBytes: (length: number) => Buffer;
  readArray: <T>(read: (decoder: Decoder) => T) => T[];
  readArrayAsync: <T>(read: (decoder: Decoder) => Promise<T>) => Promise<T[]>;
};

/**
 * Replaces the decoder of Fetch responses. The decoder of kafkajs delivers records of overlapping aborted transactions,
 * fetches a batch that compaction has emptied again forever, and throws above some 120,000 records in a batch.
 */
export function patchFetch(parts: FetchParts): void {
  const { fetch } = parts;
  const protocol = fetch.protocol.bind(fetch);
  fetch.protocol = ({ version }) => {
    const createFetch = protocol({ version });
    // Brokers older than transactions and record batches (0.11).
    if (version < 4) return createFetch;
    return (request) => {
      const original = createFetch(request);
      const response: FetchResponse = {
        decode: (bytes) => decodeResponse(parts, version, bytes),
        parse: async (data) => withoutEmpty(await original.response.parse(data)),
      };
      return { ...original, response };
    };
  };
}

/** Decodes a Fetch response, versions 4 to 11. The decoders of kafkajs describe the format. */
async function decodeResponse(parts: FetchParts, version: number, bytes: Buffer): Promise<FetchData> {
  const decoder = new parts.Decoder(bytes);
  const throttleMs = decoder.readInt32();
  // The error code and id of a fetch session, which kafkajs does not use.
  if (version >= 7) decoder.readBytes(6);
  const responses = await decoder.readArrayAsync(async () => ({
    topicName: decoder.readString(),
    partitions: await decoder.readArrayAsync(() => decodePartition(parts, version, decoder)),
  }));
  // Before version 8 the broker throttles by itself.
  return { clientSideThrottleTime: version >= 8 ? throttleMs : 0, responses };
}

async function decodePartition(parts: FetchParts, version: number, decoder: Decoder): Promise<PartitionData> {
  const [partition, errorCode] = [decoder.readInt32(), decoder.readInt16()];
  const highWatermark = decoder.readInt64().toString();
  // The last stable offset, then the log start offset.
  decoder.readBytes(version >= 5 ? 16 : 8);
  const aborted = decoder.readArray(() => ({
    producerId: decoder.readInt64(),
    firstOffset: decoder.readInt64(),
  }));
  const preferredReadReplica = version >= 11 ? decoder.readInt32() : -1;
  const records = decoder.readBytes(Math.max(0, decoder.readInt32()));
  const messages = await decodeRecords(parts, records, aborted);
  // The messages are already filtered, so kafkajs must not filter them again.
  return { partition, errorCode, highWatermark, abortedTransactions: [], preferredReadReplica, messages };
}

/**
 * Decodes record batches and old message sets, without the records of aborted transactions. If the last batch ends after
 * the last record, a control record with its last offset is appended, since kafkajs continues after the last record.
 */
async function decodeRecords(
  parts: FetchParts,
  bytes: Buffer,
  aborted: AbortedTransaction[],
): Promise<Message[]> {
  const { Decoder, decodeRecordBatch, decodeMessageSet } = parts;
  const messages: Message[] = [];
  const isAborted = createAbortFilter(aborted);
  let lastOffset = -1n;
  for (let start = 0; bytes.length - start > 16;) {
    const end = start + 12 + bytes.readInt32BE(start + 8);
    // A response is truncated at its size limit. A later fetch returns the whole batch.
    if (end > bytes.length) break;
    const entry = bytes.subarray(start, end);
    start = end;
    if (entry.readInt8(16) < 2) {
      for (const message of await decodeMessageSet(new Decoder(entry), entry.length)) messages.push(message);
      continue;
    }
    const header = batchHeader(entry);
    lastOffset = header.lastOffset;
    const { records } = await decodeRecordBatch(new Decoder(entry));
    if (isAborted(header, records[0]?.key)) continue;
    // Not `push(...records)`: the number of arguments is limited.
    for (const record of records) messages.push(record);
  }
  if (lastOffset > BigInt(messages.at(-1)?.offset ?? -1)) messages.push(endMarker(lastOffset));
  return messages;
}

/** The fields of a record batch's header that the filter needs. */
export type BatchHeader = ReturnType<typeof batchHeader>;

const batchHeader = (bytes: Buffer) => ({
  lastOffset: bytes.readBigInt64BE(0) + BigInt(bytes.readInt32BE(23)),
  producerId: bytes.readBigInt64BE(43),
  isTransactional: (bytes.readInt16BE(21) & 0x10) !== 0,
  isControl: (bytes.readInt16BE(21) & 0x20) !== 0,
});

/** A control record: kafkajs uses its offset and drops the record. */
const endMarker = (offset: bigint) =>
  ({ offset: String(offset), isControlRecord: true, key: null, value: null }) as Message;

export type AbortedTransaction = { producerId: bigint; firstOffset: bigint };

/**
 * Returns a function that decides for each batch in order whether its transaction was aborted, by its header and the key
 * of its first record, as the Java consumer does. Brokers list aborted transactions in the order in which they ended.
 */
export function createAbortFilter(aborted: AbortedTransaction[]) {
  const upcoming = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  const abortedProducers = new Set<bigint>();
  return (batch: BatchHeader, firstKey: Buffer | null | undefined): boolean => {
    while (upcoming[0] && upcoming[0].firstOffset <= batch.lastOffset) {
      abortedProducers.add(upcoming[0].producerId);
      upcoming.shift();
    }
    // The key of a control record has two bytes of version and two bytes of type; type 0 is an abort.
    if (batch.isControl && firstKey?.readInt16BE(2) === 0) abortedProducers.delete(batch.producerId);
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
