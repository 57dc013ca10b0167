import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Batch } from 'kafkajs';
import { type FetchInternals, isLeaderError, type Message, patchFetch } from './fetch-decoder.ts';
import { type ListenerParts, nameOtherProtocol } from './listener-protocol.ts';
import { type LeaderParts, tolerateMissingLeaders } from './missing-leaders.ts';
import { type ProtocolError, protocolErrorText } from './protocol-errors.ts';
import { type AuthenticationParts, closeUnauthenticated, renewShortSessions } from './reauthentication.ts';
import { leaderEpochOf, type RawBatch, unknownEpoch } from './record-batch.ts';
import { closeTimedOutConnections, type ConnectionParts } from './silent-connections.ts';

/** The patched version. Before an upgrade, compare the new sources of kafkajs with this file and its imports. */
const patchedVersion = '2.2.4';

/** The internal parts of kafkajs that the patch needs; they have no public types. */
type KafkajsParts = FetchInternals &
  LeaderParts &
  ListenerParts &
  AuthenticationParts &
  ConnectionParts & {
    version: string;
    batch: { prototype: { isEmpty: unknown; isEmptyDueToFiltering: unknown } };
    consumerGroup: { prototype: ConsumerGroup };
    cluster: { prototype: Cluster };
    requestQueue: { prototype: RequestQueue };
  };

type ConsumerGroup = {
  maxWaitTime: number;
  maxBytesPerPartition: number;
  assigned: () => { partitions: number[] }[];
  paused: () => unknown[];
  fetch: (nodeId: number) => Promise<Batch[]>;
  recoverFromFetch: (error: { type?: string }) => Promise<void>;
  cluster: {
    refreshMetadata: () => Promise<void>;
    brokerPool: { brokers: Record<number, { connectionPool: { pool: { requestQueue: RequestQueue }[] } }> };
  };
};
/** The parts that the patch of a change of leader needs. */
type LeaderChangeParts = { consumerGroup: { prototype: Pick<ConsumerGroup, 'fetch' | 'recoverFromFetch'> } };
type RefreshedCluster = Pick<ConsumerGroup['cluster'], 'refreshMetadata'>;
type Cluster = {
  brokerPool: { withBroker: <T>(ask: (on: { broker: Broker }) => Promise<T>) => Promise<T | null> };
  findGroupCoordinatorMetadata: (group: object) => Promise<object>;
};
type Broker = { findGroupCoordinator: (group: object) => Promise<object> };
type RequestQueue = {
  pending: unknown[];
  /** Until when the queue keeps requests back because of a quota, by `Date.now`. */
  throttledUntil: number;
  scheduleCheckPendingRequests: () => void;
};
type FetchedBatch = Batch & { rawMessages: Message[]; fetchedOffset: string };

const patched = new WeakSet<object>();

/**
 * Patches kafkajs in this process, once. Each function that it calls states the fault of kafkajs that it corrects.
 * Throws if the installed version is not `patchedVersion`. A consumer then needs `eachBatch`, because `eachMessage`
 * would not get past a batch without messages.
 */
export function patchKafkajs(parts: KafkajsParts = installedKafkajs()): void {
  if (patched.has(parts.fetch)) return;
  if (parts.version !== patchedVersion)
    throw new Error(
      `kafkajs-patch.ts does not fit the installed kafkajs: its version is ${parts.version}, not ${patchedVersion}. ` +
        'Compare the patch with its sources',
    );
  patchFetch(parts);
  deliverEveryBatch(parts);
  waitForQuota(parts);
  adjustFetches(parts);
  followLeaders(parts);
  stopIdleTimers(parts);
  tolerateMissingLeaders(parts);
  keepCoordinatorErrors(parts);
  renewShortSessions(parts);
  closeUnauthenticated(parts);
  nameOtherProtocol(parts);
  closeTimedOutConnections(parts);
  patched.add(parts.fetch);
}

/** The parts of the installed kafkajs. */
export function installedKafkajs(): KafkajsParts {
  const require = createRequire(import.meta.url);
  return {
    version: (require('kafkajs/package.json') as { version: string }).version,
    fetch: require('kafkajs/src/protocol/requests/fetch') as KafkajsParts['fetch'],
    batch: require('kafkajs/src/consumer/batch') as KafkajsParts['batch'],
    consumerGroup: require('kafkajs/src/consumer/consumerGroup') as KafkajsParts['consumerGroup'],
    requestQueue: require('kafkajs/src/network/requestQueue') as KafkajsParts['requestQueue'],
    metadata: require('kafkajs/src/protocol/requests/metadata') as KafkajsParts['metadata'],
    offsetManager: require('kafkajs/src/consumer/offsetManager') as KafkajsParts['offsetManager'],
    cluster: require('kafkajs/src/cluster') as KafkajsParts['cluster'],
    connection: require('kafkajs/src/network/connection') as KafkajsParts['connection'],
    saslAuthenticator: require('kafkajs/src/broker/saslAuthenticator') as KafkajsParts['saslAuthenticator'],
    Decoder: require('kafkajs/src/protocol/decoder') as KafkajsParts['Decoder'],
  };
}

/** The answer of a broker to a fetch of one partition. */
export type PartitionFetch = {
  /** The requested offset. */
  offset: number;
  /** The error of a broker that cannot read the partition at this offset; null if it can. */
  error: string | null;
  /** How long a quota makes this client wait, in milliseconds. Above 0 only if the quota stopped the delivery. */
  throttledMs: number;
  /** The batches that have records, not yet decoded. */
  batches: RawBatch[];
  /** The offset to fetch next. */
  nextOffset: number;
  /** The leader epoch of the last batch that has one, even if the patch filtered it out; -1 without an epoch. */
  leaderEpoch: number;
  /** The end of the log, as the broker saw it. */
  endOffset: number;
};

/**
 * Reads a fetch of kafkajs: the patch delivers each record batch as one message. The next offset moves only past a
 * record batch, or past the marker that stands for one.
 */
export function readPartitionFetch(batch: Batch): PartitionFetch {
  const messages = messagesIn(batch);
  const offset = Number((batch as FetchedBatch).fetchedOffset);
  const error = errorIn(batch);
  const last = messages.findLast((message) => 'batch' in message || 'isControlRecord' in message);
  return {
    offset,
    error: error && protocolErrorText(error),
    throttledMs: throttledMsOf(batch),
    // As kafkajs does, this leaves out a batch that ends before the requested offset.
    batches: messages.flatMap((message) =>
      'batch' in message && message.batch.lastOffset >= offset ? [message.batch] : [],
    ),
    nextOffset: last ? Math.max(offset, Number(last.offset) + 1) : offset,
    leaderEpoch: latestEpochIn(batch),
    endOffset: Number(batch.highWatermark),
  };
}

/** The messages of the patch. `batch.messages` lacks some of them, because kafkajs filters it by its own rules. */
const messagesIn = (batch: Batch): Message[] => (batch as FetchedBatch).rawMessages;

/** The error of a broker that delivers nothing of the partition; null if it delivers. */
const errorIn = (batch: Batch): ProtocolError | null =>
  messagesIn(batch).find((message) => 'error' in message)?.error ?? null;

/** How long a quota makes the client wait for a batch without records, in milliseconds; 0 without a quota. */
function throttledMsOf(batch: Batch): number {
  const [first] = messagesIn(batch);
  return first && 'throttledMs' in first ? first.throttledMs : 0;
}

/** The latest leader epoch of the fetched record batches, even if the patch filtered them out; -1 without an epoch. */
const latestEpochIn = (batch: Batch): number =>
  messagesIn(batch).reduce((latest, message) => {
    if ('batch' in message) return Math.max(latest, leaderEpochOf(message.batch.bytes));
    return 'leaderEpoch' in message ? Math.max(latest, message.leaderEpoch) : latest;
  }, unknownEpoch);

/**
 * kafkajs skips a batch that has only control or aborted records, or that compaction has emptied, even if it was
 * fetched from a wrong offset. The patch delivers such a batch to `eachBatch` without messages: `handleBatch` then
 * checks the offset of every batch.
 */
function deliverEveryBatch({ batch: { prototype } }: KafkajsParts): void {
  prototype.isEmptyDueToFiltering = () => false;
  prototype.isEmpty = function (this: FetchedBatch) {
    return this.rawMessages.length === 0;
  };
}

/** How long a resumed partition may wait for the fetch in progress, in milliseconds. */
const pausedWaitMs = 100;

/**
 * Gives each assigned partition an equal part of `maxBytesPerPartition`; kafkajs would request all of it for each.
 * While a partition is paused, the consumer requests short waits, because kafkajs fetches a resumed partition only
 * after the fetch in progress.
 */
function adjustFetches({ consumerGroup: { prototype } }: KafkajsParts): void {
  const configured = new WeakMap<ConsumerGroup, { maxWaitMs: number; maxBytes: number }>();
  const fetch = prototype.fetch;
  prototype.fetch = function (this: ConsumerGroup, nodeId) {
    const limits = configured.get(this) ?? {
      maxWaitMs: this.maxWaitTime,
      maxBytes: this.maxBytesPerPartition,
    };
    const { maxWaitMs, maxBytes } = limits;
    configured.set(this, limits);
    this.maxWaitTime = this.paused().length > 0 ? Math.min(pausedWaitMs, maxWaitMs) : maxWaitMs;
    const partitionCount = this.assigned().reduce((sum, { partitions }) => sum + partitions.length, 0);
    this.maxBytesPerPartition = Math.floor(maxBytes / Math.max(1, partitionCount));
    return fetch.call(this, nodeId);
  };
}

/** The index of the connection on which kafkajs sends all fetches to a broker. */
const fetchConnection = 1;

/**
 * If a quota throttles the client at a broker, kafkajs delays the next request, even for hours. During this delay the
 * consumer sends no heartbeat and cannot stop. The patch therefore sends that broker no fetch before the delay is over.
 */
function waitForQuota({ consumerGroup: { prototype } }: KafkajsParts): void {
  const fetch = prototype.fetch;
  prototype.fetch = async function (this: ConsumerGroup, nodeId) {
    const connection = this.cluster.brokerPool.brokers[nodeId]?.connectionPool.pool[fetchConnection];
    const leftMs = (connection?.requestQueue.throttledUntil ?? 0) - Date.now();
    if (leftMs <= 0) return fetch.call(this, nodeId);
    await sleep(Math.min(leftMs, this.maxWaitTime));
    return [];
  };
}

/** The pause before the next fetch, in milliseconds, because the brokers may not know the new leader yet. */
const leaderPauseMs = 100;

/**
 * After a change of leader, kafkajs discards the whole response and joins the group again, and all partitions of this
 * process wait for their start offsets. The patch only reads the metadata again, because a new leader does not change
 * the assignment, and delivers the other partitions.
 */
export function followLeaders({ consumerGroup: { prototype } }: LeaderChangeParts): void {
  const isOther = (type = '') => isLeaderError(type);
  const readLeaders = async ({ cluster }: { cluster: RefreshedCluster }) => {
    await sleep(leaderPauseMs);
    await cluster.refreshMetadata();
  };
  const { fetch, recoverFromFetch } = prototype;
  prototype.fetch = async function (this: ConsumerGroup, nodeId) {
    const batches = await fetch.call(this, nodeId);
    const led = batches.filter((batch) => !isOther(errorIn(batch)?.type));
    if (led.length < batches.length) await readLeaders(this);
    return led;
  };
  prototype.recoverFromFetch = async function (this: ConsumerGroup, error) {
    return isOther(error.type) ? readLeaders(this) : recoverFromFetch.call(this, error);
  };
}

/**
 * After the first response on a connection, kafkajs checks for unsent requests every millisecond, forever. That wakes
 * the process 900 times a second for each used connection. The patch checks only while requests are unsent.
 */
function stopIdleTimers({ requestQueue: { prototype } }: KafkajsParts): void {
  const { scheduleCheckPendingRequests } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/**
 * If no broker names the coordinator of the group, for example because all have just restarted, kafkajs drops their
 * errors and ends the consumer forever. The patch rejects with the last error, which shows whether to try again.
 */
function keepCoordinatorErrors({ cluster: { prototype } }: KafkajsParts): void {
  prototype.findGroupCoordinatorMetadata = async function (this: Cluster, group) {
    let failure: unknown;
    const coordinator = await this.brokerPool.withBroker(({ broker }) =>
      broker.findGroupCoordinator(group).catch((error: unknown) => {
        failure = error;
        throw error;
      }),
    );
    if (coordinator === null) throw failure;
    return coordinator;
  };
}
