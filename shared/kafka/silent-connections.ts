import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import kafkajs from 'kafkajs';

/*
 * kafkajs-patch.ts calls `closeTimedOutConnections` once. It then watches every connection of this process:
 *
 *   a request times out     closes its connection, and those that have been silent for most of its wait
 *   the process ends        `closingSilentConnections` closes each connection on which a request waits too long
 *   a connection opens      `openOneAtATime` corrects two faults of kafkajs
 */

/** The internal parts of kafkajs that open and use a connection; they have no public types. */
export type ConnectionParts = { connection: { prototype: Connection } };

type Connection = {
  host: string;
  port: number;
  socket?: Socket;
  connectionStatus: 'connected' | 'disconnecting' | 'disconnected';
  authenticatedAt: unknown;
  /** The first part of the next response. */
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  requestQueue: {
    /** The requests without a response, by their number on this connection. `sentAt` is a reading of `Date.now`. */
    inflight: Map<number, { sentAt: number }>;
    rejectAll: (error: Error) => void;
    destroy: () => void;
  };
  connect: () => Promise<boolean>;
  disconnect: () => Promise<boolean>;
  processData: (data: Buffer) => void;
  send: (call: object) => Promise<unknown>;
};

const { KafkaJSConnectionClosedError } = createRequire(import.meta.url)('kafkajs/src/errors') as {
  KafkaJSConnectionClosedError: new (message: string, broker: { host: string; port: number }) => Error;
};

/** When each open connection of this process was opened or last received bytes, by `Date.now`. */
const lastReceivedMs = new Map<Connection, number>();

/** The bytes of the length before each response. */
const lengthBytes = 4;

/**
 * kafkajs rejects a request that times out, but keeps its connection. If a NAT, a load balancer or a host without power
 * has silently dropped the connection, every later request on it also times out. That lasts a quarter of an hour, or
 * forever behind a balancer that acknowledges the bytes. The patch closes the connection, and every other connection
 * that has been silent for most of the wait. The next request opens a new connection.
 */
export function closeTimedOutConnections({ connection: { prototype } }: ConnectionParts): void {
  const { send, processData } = prototype;
  prototype.processData = function (this: Connection, data) {
    lastReceivedMs.set(this, Date.now());
    processData.call(this, data);
  };
  prototype.send = async function (this: Connection, call) {
    try {
      return await send.call(this, call);
    } catch (error) {
      if (error instanceof kafkajs.KafkaJSRequestTimeoutError) closeAfterTimeout(this, error);
      throw error;
    }
  };
  openOneAtATime(prototype);
}

type TimedOut = { correlationId: number; sentAt: number };

/**
 * Closes a connection whose oldest request has timed out. The timeout of a younger request proves nothing. Brokers
 * answer in order, so it may only wait for the answer of a JoinGroup, which takes up to a minute.
 */
function closeAfterTimeout(connection: Connection, error: Error): void {
  const { correlationId, sentAt } = error as Error & TimedOut;
  const waitingIds = [...connection.requestQueue.inflight.keys()];
  if (waitingIds.some((id) => id < correlationId)) return;
  closeNow(connection);
  // A failure of the network usually cuts all connections. An answer that came right after the request may have come
  // before the failure, so it does not show that its connection works.
  const silentSinceMs = sentAt + (Date.now() - sentAt) / 4;
  for (const [otherConnection, receivedMs] of lastReceivedMs) {
    const [oldest] = otherConnection.requestQueue.inflight.values();
    const isSilent = receivedMs <= silentSinceMs;
    // An older request has its own timeout, which may come later because its answer takes long.
    const hasOlderRequest = oldest !== undefined && oldest.sentAt <= sentAt;
    if (isSilent && !hasOlderRequest) closeNow(otherConnection);
  }
}

/** The interval at which a process that ends checks its connections, in milliseconds. */
const checkEveryMs = 250;

/**
 * Runs `work`. Until it ends, closes each connection on which a request has waited for `silentMs` without a byte of an
 * answer. A process that ends has no time to wait for the timeout of a request.
 */
export async function closingSilentConnections<T>(silentMs: number, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    const silentSinceMs = Date.now() - silentMs;
    for (const [connection, receivedMs] of lastReceivedMs) {
      const [oldest] = connection.requestQueue.inflight.values();
      if (oldest && Math.max(receivedMs, oldest.sentAt) < silentSinceMs) closeNow(connection);
    }
  }, checkEveryMs);
  return work().finally(() => clearInterval(timer));
}

/** Destroys the socket, and rejects the requests that wait for it. */
function closeNow(connection: Connection): void {
  const { host, port, socket, requestQueue } = connection;
  lastReceivedMs.delete(connection);
  connection.connectionStatus = 'disconnected';
  connection.authenticatedAt = null;
  socket?.destroy();
  delete connection.socket;
  requestQueue.rejectAll(new KafkaJSConnectionClosedError('no answer', { host, port }));
  requestQueue.destroy();
}

/**
 * Corrects two faults of kafkajs. Two requests that find a connection closed would each open a socket, and one socket
 * would leak. A socket that has failed or was ended would still deliver bytes to the connection, which would mistake
 * the rest of an old response for the beginning of the next one.
 */
function openOneAtATime(prototype: Connection): void {
  const { connect, disconnect } = prototype;
  const opening = new WeakMap<Connection, Promise<boolean>>();
  const open = async (connection: Connection) => {
    connection.chunks = [];
    connection.bytesBuffered = 0;
    connection.bytesNeeded = lengthBytes;
    const connecting = connect.call(connection);
    const { socket } = connection;
    try {
      const isOpen = await connecting;
      lastReceivedMs.set(connection, Date.now());
      return isOpen;
    } catch (error) {
      socket?.destroy();
      throw error;
    }
  };
  prototype.connect = function (this: Connection) {
    if (this.connectionStatus !== 'disconnected') return connect.call(this);
    const shared = opening.get(this);
    if (shared) return shared;
    const attempt = open(this).finally(() => {
      if (opening.get(this) === attempt) opening.delete(this);
    });
    opening.set(this, attempt);
    return attempt;
  };
  prototype.disconnect = async function (this: Connection) {
    const { socket } = this;
    const isClosed = await disconnect.call(this);
    lastReceivedMs.delete(this);
    const isOpening = opening.delete(this);
    // An attempt in progress could otherwise still open the connection after its end.
    if (isOpening) socket?.destroy(new Error('disconnected'));
    else socket?.destroySoon();
    // Each further `disconnect` would otherwise add a listener to the old socket.
    if (this.socket === socket) delete this.socket;
    return isClosed;
  };
}
