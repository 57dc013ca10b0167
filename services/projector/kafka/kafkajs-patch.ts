import { createRequire } from 'node:module';
import type { Batch, KafkaMessage } from 'kafkajs';

/** The version that this file patches. Before an upgrade, compare the new sources with this file. */
const patchedVersion = '2.2.4';

/** The internal parts of kafkajs that the patch needs; they have no public types. */
export type KafkajsParts = {
  version: string;
  fetch: FetchApi;
  batch: { prototype: { isEmpty: unknown; isEmptyDueToFiltering: unknown } };
  consumerGroup: { prototype: ConsumerGroup };
  requestQueue: { prototype: RequestQueue };
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
type RequestQueue = {
  pending: unknown[];
  inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest: () => void }>;
  requestTimeout: number;
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout;
  isConnected: () => boolean;
  destroy: () => void;
  scheduleCheckPendingRequests: () => void;
  scheduleRequestTimeoutCheck: () => void;
};
type ConsumerGroup = {
  maxWaitTime: number;
  paused: () => unknown[];
  fetch: (nodeId: number) => Promise<Batch[]>;
};
type FetchedBatch = Batch & { rawMessages: unknown[]; fetchedOffset: string };

const patched = new WeakSet<object>();

/**
 * Patches kafkajs in this process, once. Throws if the installed version is not `patchedVersion`. A consumer then needs
 * `eachBatch`: `eachMessage` would not get past a batch without messages.
 */
export function patchKafkajs(parts: KafkajsParts = installedKafkajs()): void {
  if (patched.has(parts.fetch)) return;
  requireShapes(parts);
  patchFetch(parts);
  deliverEveryBatch(parts);
  waitLessWhilePaused(parts);
  stopIdleTimers(parts);
  patched.add(parts.fetch);
}

/** The parts of the installed kafkajs. */
export function installedKafkajs(): KafkajsParts {
  const require = createRequire(import.meta.url);
  return {
    version: (require('kafkajs/package.json') as { version: string }).version,
    fetch: require('kafkajs/src/protocol/requests/fetch') as FetchApi,
    batch: require('kafkajs/src/consumer/batch') as KafkajsParts['batch'],
    consumerGroup: require('kafkajs/src/consumer/consumerGroup') as KafkajsParts['consumerGroup'],
    requestQueue: require('kafkajs/src/network/requestQueue') as KafkajsParts['requestQueue'],
    Decoder: require('kafkajs/src/protocol/decoder') as KafkajsParts['Decoder'],
    decodeRecordBatch:
      require('kafkajs/src/protocol/recordBatch/v0/decoder') as KafkajsParts['decodeRecordBatch'],
    decodeMessageSet: require('kafkajs/src/protocol/messageSet/decoder') as KafkajsParts['decodeMessageSet'],
  };
}

/** The offset that the batch was fetched from. The types of kafkajs do not include it. */
export const fetchedOffsetOf = (batch: Batch): number => Number((batch as FetchedBatch).fetchedOffset);

function requireShapes(parts: KafkajsParts): void {
  const { version, fetch, batch, consumerGroup, requestQueue } = parts;
  if (version !== patchedVersion) throw shapeError(`its version is ${version}, not ${patchedVersion}`);
  if (fetch.versions.at(-1) !== '11') throw shapeError('its latest version of Fetch is not 11');
  const functions = {
    'fetch.protocol': fetch.protocol,
    'Batch.isEmpty': batch.prototype.isEmpty,
    'Batch.isEmptyDueToFiltering': batch.prototype.isEmptyDueToFiltering,
    'ConsumerGroup.paused': consumerGroup.prototype.paused,
    'ConsumerGroup.fetch': consumerGroup.prototype.fetch,
    'RequestQueue.scheduleCheckPendingRequests': requestQueue.prototype.scheduleCheckPendingRequests,
    'RequestQueue.scheduleRequestTimeoutCheck': requestQueue.prototype.scheduleRequestTimeoutCheck,
    Decoder: parts.Decoder,
    'recordBatch decoder': parts.decodeRecordBatch,
    'messageSet decoder': parts.decodeMessageSet,
  };
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== 'function') throw shapeError(`${name} is missing`);
  }
}

const shapeError = (difference: string) =>
  new Error(
    `kafkajs-patch.ts does not fit the installed kafkajs: ${difference}. Compare the patch with its sources`,
  );

/**
 * Replaces the decoder of Fetch responses. The decoder of kafkajs delivers records of overlapping aborted transactions,
 * fetches a batch that compaction has emptied again forever, and throws above some 120,000 records in a batch.
 */
function patchFetch(parts: KafkajsParts): void {
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
async function decodeResponse(parts: KafkajsParts, version: number, bytes: Buffer): Promise<FetchData> {
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

async function decodePartition(
  parts: KafkajsParts,
  version: number,
  decoder: Decoder,
): Promise<PartitionData> {
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
  parts: KafkajsParts,
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

/**
 * kafkajs skips a batch that is left with control records only, with aborted records only, or empty after compaction,
 * whatever offset it was fetched from. The patch delivers such a batch to `eachBatch` without messages, so that
 * `handleBatch` alone decides what was read.
 */
function deliverEveryBatch({ batch: { prototype } }: KafkajsParts): void {
  prototype.isEmptyDueToFiltering = () => false;
  prototype.isEmpty = function (this: FetchedBatch) {
    return this.rawMessages.length === 0;
  };
}

/** How long a resumed partition may wait for the fetch in progress, in milliseconds. */
const pausedWaitMs = 20;

/**
 * A resumed partition is fetched only after the brokers have responded to the fetch in progress, which they delay while
 * the other partitions have no new records. While a partition is paused, the consumer therefore asks for short waits. An
 * idle consumer can ask for long waits.
 */
function waitLessWhilePaused({ consumerGroup: { prototype } }: KafkajsParts): void {
  const configured = new WeakMap<ConsumerGroup, number>();
  const fetch = prototype.fetch;
  prototype.fetch = function (this: ConsumerGroup, nodeId) {
    const maxWaitMs = configured.get(this) ?? this.maxWaitTime;
    configured.set(this, maxWaitMs);
    this.maxWaitTime = this.paused().length > 0 ? Math.min(pausedWaitMs, maxWaitMs) : maxWaitMs;
    return fetch.call(this, nodeId);
  };
}

/** The interval of the check for timed out requests, in milliseconds; kafkajs checks ten times as often. */
const timeoutCheckMs = 1_000;

/**
 * After the first response on a connection, kafkajs checks for unsent requests every millisecond, forever: 900 times a
 * second for each used connection. The patch keeps the check only while requests are unsent.
 */
function stopIdleTimers({ requestQueue: { prototype } }: KafkajsParts): void {
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue) {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    this.requestTimeoutIntervalId = setInterval(
      () => {
        for (const request of this.inflight.values()) {
          if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
        }
        if (!this.isConnected()) this.destroy();
      },
      Math.min(this.requestTimeout, timeoutCheckMs),
    );
  };
}
