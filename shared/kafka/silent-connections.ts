import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import kafkajs from 'kafkajs';

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

/** When each open connection of this process was opened or has last received something: a reading of `Date.now`. */
const heardAt = new Map<Connection, number>();

/** The length of a response, before the response. */
const lengthBytes = 4;

/**
 * kafkajs rejects a request that times out, and keeps its connection. If a NAT, a balancer or a host without power has
 * silently dropped the connection, every later request on it times out too: for a quarter of an hour, or for ever
 * behind a balancer that acknowledges them. The patch closes the connection, and every other one that has been silent
 * since the request; the next request opens a new one.
 */
export function giveUpTimedOut({ connection: { prototype } }: ConnectionParts): void {
  const { send, processData } = prototype;
  prototype.processData = function (this: Connection, data) {
    heardAt.set(this, Date.now());
    processData.call(this, data);
  };
  prototype.send = async function (this: Connection, call) {
    try {
      return await send.call(this, call);
    } catch (error) {
      if (error instanceof kafkajs.KafkaJSRequestTimeoutError) giveUpAfter(this, error);
      throw error;
    }
  };
  openOneAtATime(prototype);
}

type TimedOut = { correlationId: number; sentAt: number };

/** Brokers answer in order: a request behind a JoinGroup waits for its answer, which may take a minute. */
function giveUpAfter(connection: Connection, error: Error): void {
  const { correlationId, sentAt } = error as Error & TimedOut;
  if ([...connection.requestQueue.inflight.keys()].some((earlier) => earlier < correlationId)) return;
  giveUp(connection);
  // Mostly all connections are cut off together. A connection with an older request has the limit of that request.
  for (const [other, heardMs] of heardAt) {
    const [oldest] = other.requestQueue.inflight.values();
    if (heardMs <= sentAt && !(oldest && oldest.sentAt <= sentAt)) giveUp(other);
  }
}

/** How often a process that ends looks for silent connections, in milliseconds. */
const lookEveryMs = 250;

/**
 * Until `work` has ended, each connection on which a request has waited for `silentMs` is given up: a process that ends
 * has no time for the limit of a request.
 */
export async function givingUpSilent<T>(silentMs: number, work: () => Promise<T>): Promise<T> {
  const looking = setInterval(() => {
    const beforeMs = Date.now() - silentMs;
    for (const [connection, heardMs] of heardAt) {
      const [oldest] = connection.requestQueue.inflight.values();
      if (oldest && Math.max(heardMs, oldest.sentAt) < beforeMs) giveUp(connection);
    }
  }, lookEveryMs);
  return work().finally(() => clearInterval(looking));
}

/** Destroys the socket, and rejects the requests that wait for it. */
function giveUp(connection: Connection): void {
  const { host, port, socket, requestQueue } = connection;
  heardAt.delete(connection);
  connection.connectionStatus = 'disconnected';
  connection.authenticatedAt = null;
  socket?.destroy();
  delete connection.socket;
  requestQueue.rejectAll(new KafkaJSConnectionClosedError('no answer', { host, port }));
  requestQueue.destroy();
}

/**
 * Two requests that find a connection closed would each open a socket, of which one is lost. A socket whose attempt has
 * failed, or that was ended, would still report to the next one's connection, and the rest of a response would be taken
 * for the beginning of the next.
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
      heardAt.set(connection, Date.now());
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
    heardAt.delete(this);
    // An attempt would succeed after its end.
    if (opening.delete(this)) socket?.destroy(new Error('disconnected'));
    else socket?.destroySoon();
    // Each further end would add a listener to it.
    if (this.socket === socket) delete this.socket;
    return isClosed;
  };
}
