import { createRequire } from 'node:module';
import type { Batch, KafkaMessage } from 'kafkajs';

/** The version that this file patches. Before another one is taken, compare its sources with this file. */
const patchedVersion = '2.2.4';

/** A part of kafkajs that has no public types, as far as the patch needs it. */
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

/** What kafkajs knows of the Fetch API: the versions that it speaks, and how to. */
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
 * Patches kafkajs in this process, once. Throws where the installed version is not the one that this file was
 * written for. From then on a consumer needs `eachBatch`: `eachMessage` would not get past a batch without messages.
 */
export function patchKafkajs(parts: KafkajsParts = installedKafkajs()): void {
  if (patched.has(parts.fetch)) return;
  requireShapes(parts);
  patchFetch(parts);
  handOverEveryBatch(parts);
  waitLessWhilePaused(parts);
  stopIdleTimers(parts);
  patched.add(parts.fetch);
}

/** The parts of the kafkajs that this process runs. */
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

/** The offset that the batch was asked from: on it, but not in kafkajs's types. */
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

const shapeError = (what: string) =>
  new Error(
    `kafkajs-patch.ts does not fit the installed kafkajs: ${what}. Compare the patch with its sources`,
  );

/**
 * Replaces the decoder of fetch responses. The one of kafkajs delivers aborted transactions that overlap, fetches
 * a batch that compaction has emptied again for ever, and throws above some 120,000 records a batch.
 */
function patchFetch(parts: KafkajsParts): void {
  const { fetch } = parts;
  const protocol = fetch.protocol.bind(fetch);
  fetch.protocol = ({ version }) => {
    const createFetch = protocol({ version });
    // Brokers from before transactions and record batches (0.11).
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

/** Fetch response, versions 4 to 11: see the protocol's description in kafkajs's own decoders. */
async function decodeResponse(parts: KafkajsParts, version: number, bytes: Buffer): Promise<FetchData> {
  const decoder = new parts.Decoder(bytes);
  const throttleMs = decoder.readInt32();
  // Error code and id of a fetch session, which kafkajs does not use.
  if (version >= 7) decoder.readBytes(6);
  const responses = await decoder.readArrayAsync(async () => ({
    topicName: decoder.readString(),
    partitions: await decoder.readArrayAsync(() => decodePartition(parts, version, decoder)),
  }));
  // Before version 8 the broker has waited itself.
  return { clientSideThrottleTime: version >= 8 ? throttleMs : 0, responses };
}

async function decodePartition(
  parts: KafkajsParts,
  version: number,
  decoder: Decoder,
): Promise<PartitionData> {
  const [partition, errorCode] = [decoder.readInt32(), decoder.readInt16()];
  const highWatermark = decoder.readInt64().toString();
  // Last stable offset, then the log's start.
  decoder.readBytes(version >= 5 ? 16 : 8);
  const aborted = decoder.readArray(() => ({
    producerId: decoder.readInt64(),
    firstOffset: decoder.readInt64(),
  }));
  const preferredReadReplica = version >= 11 ? decoder.readInt32() : -1;
  const records = decoder.readBytes(Math.max(0, decoder.readInt32()));
  const messages = await decodeRecords(parts, records, aborted);
  // Filtered here already, so that kafkajs has nothing left to filter.
  return { partition, errorCode, highWatermark, abortedTransactions: [], preferredReadReplica, messages };
}

/**
 * Decodes record batches, and message sets of old, without the records of aborted transactions. Where the last
 * batch reaches further than the last record, a control record at its last offset ends the list, since kafkajs
 * reads on behind the last record.
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
    // A fetch is cut at its limit; the batch comes whole with a later one.
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
    // Not by `push(...records)`, whose arguments are limited in number.
    for (const record of records) messages.push(record);
  }
  if (lastOffset > BigInt(messages.at(-1)?.offset ?? -1)) messages.push(endMarker(lastOffset));
  return messages;
}

/** What is known of a record batch by its header. */
export type BatchHeader = ReturnType<typeof batchHeader>;

const batchHeader = (bytes: Buffer) => ({
  lastOffset: bytes.readBigInt64BE(0) + BigInt(bytes.readInt32BE(23)),
  producerId: bytes.readBigInt64BE(43),
  isTransactional: (bytes.readInt16BE(21) & 0x10) !== 0,
  isControl: (bytes.readInt16BE(21) & 0x20) !== 0,
});

/** kafkajs reads its offset and drops it. */
const endMarker = (offset: bigint) =>
  ({ offset: String(offset), isControlRecord: true, key: null, value: null }) as Message;

export type AbortedTransaction = { producerId: bigint; firstOffset: bigint };

/**
 * Tells of each batch in turn, by its header and the key of its first record, whether its transaction was aborted,
 * as the Java consumer does. Brokers list aborted transactions in the order in which they ended.
 */
export function createAbortFilter(aborted: AbortedTransaction[]) {
  const ahead = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  const abortedProducers = new Set<bigint>();
  return (batch: BatchHeader, firstKey: Buffer | null | undefined): boolean => {
    while (ahead[0] && ahead[0].firstOffset <= batch.lastOffset) {
      abortedProducers.add(ahead[0].producerId);
      ahead.shift();
    }
    // The key of a control record is its version and its type, of two bytes each; 0 is an abort.
    if (batch.isControl && firstKey?.readInt16BE(2) === 0) abortedProducers.delete(batch.producerId);
    return batch.isTransactional && abortedProducers.has(batch.producerId);
  };
}

/** Leaves out what kafkajs would make a batch and a heartbeat of, several times a second for each idle partition. */
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
 * kafkajs moves on by itself past a batch of which nothing is left but control records, aborted ones or those
 * that compaction has emptied, from wherever it was fetched. From here on such a batch reaches `eachBatch` as
 * any other, with no messages in it, so that one place decides what was read.
 */
function handOverEveryBatch({ batch: { prototype } }: KafkajsParts): void {
  prototype.isEmptyDueToFiltering = () => false;
  prototype.isEmpty = function (this: FetchedBatch) {
    return this.rawMessages.length === 0;
  };
}

/** How long a partition that is resumed may wait for the fetch under way to end, in milliseconds. */
const pausedWaitMs = 20;

/**
 * A partition that is resumed is not fetched before the brokers have answered the fetch under way, which they
 * hold back while the other partitions have no news. While one is paused they are asked to answer sooner, so
 * that a consumer at rest may ask for long waits.
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

/** How late a request may be found to have timed out, in milliseconds; kafkajs looks ten times as often. */
const timeoutCheckMs = 1_000;

/**
 * After the first answer on a connection, kafkajs looks for requests that wait to be sent every millisecond, for
 * ever: 900 times a second for each connection that has been used. It needs to while some wait.
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
