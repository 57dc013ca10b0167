import { connect, createServer, type Server, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { listen } from '../../shared/runtime/listen.ts';

/** An answer of MongoDB to a command that it refuses. */
export type Refusal = { code: number; errmsg?: string; errorLabels?: string[] };

/** A command on its way to the store. */
export type ProxiedCommand = {
  /** Its name and its collection, such as `find tickets`. */
  name: string;
  /** The number of its connection, counted from 1. */
  connection: number;
};

/**
 * A proxy of the store that answers the commands that `refuse` chooses itself, as MongoDB would. Everything else
 * reaches the store.
 */
export function createRefusingProxy(mongodbUrl: string) {
  const target = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const sockets = new Set<Socket>();
  const state = { refuse: (_: ProxiedCommand): Refusal | null => null, connections: 0 };
  const forward = (client: Socket) => {
    const upstream = connect(Number(target.port || 27_017), target.hostname);
    const connection = (state.connections += 1);
    let received = Buffer.alloc(0);
    client.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        const name = commandIn(message);
        const refusal = name === null ? null : state.refuse({ name, connection });
        if (refusal) client.write(answerTo(message, refusal));
        else upstream.write(message);
      }
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  };
  // A test that fails before its `close` does not keep jest running.
  const server: Server = createServer(forward).unref();
  return {
    state,
    /** Listens on any free port; returns the port. */
    listen: async () => (await listen(server, '127.0.0.1', 0)).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const opMsg = 2_013;
/** The length of the header, and of the flags and the kind of the first section after it. */
const beforeDocument = 21;

/** The name of the command in a message; null in a message of another form, such as the first of a connection. */
function commandIn(message: Buffer): string | null {
  if (message.readInt32LE(12) !== opMsg || message[beforeDocument - 1] !== 0) return null;
  const length = message.readInt32LE(beforeDocument);
  const command = BSON.deserialize(message.subarray(beforeDocument, beforeDocument + length));
  const [first] = Object.entries(command);
  return first ? `${first[0]} ${String(first[1])}` : null;
}

function answerTo(message: Buffer, { code, errmsg = 'refused', errorLabels = [] }: Refusal): Buffer {
  const document: Document = { ok: 0, code, codeName: 'Refused', errmsg, errorLabels };
  const body = Buffer.from(BSON.serialize(document));
  const head = Buffer.alloc(beforeDocument);
  head.writeInt32LE(beforeDocument + body.length, 0);
  // The id of the request that this answers.
  head.writeInt32LE(message.readInt32LE(4), 8);
  head.writeInt32LE(opMsg, 12);
  return Buffer.concat([head, body]);
}
