import { connect, createServer, type Server, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { listen } from '../../shared/runtime/listen.ts';

/** An answer of MongoDB to a command that it refuses. */
export type Refusal = { code: number; errmsg?: string; errorLabels?: string[] };

/** A refusal, the fields of a success, or the end of the connection. */
export type Answer = Refusal | Document | 'closed';

/** A command on its way to the store. */
export type ProxiedCommand = {
  /** Its name and its collection, such as `find tickets`. */
  name: string;
  command: Document;
  /** The number of its connection, counted from 1. */
  connection: number;
  /** The application that the client names when it connects; null without one, as the clients of tests are. */
  application: string | null;
};

/** A proxy of the store. If `state.answer` returns an answer to a command, the command does not reach the store. */
export function createAnsweringProxy(mongodbUrl: string) {
  const target = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const sockets = new Set<Socket>();
  const state = { answer: (_: ProxiedCommand): Answer | null => null, connections: 0 };
  const forward = (client: Socket) => {
    const upstream = connect(Number(target.port || 27_017), target.hostname);
    state.connections += 1;
    const connection = state.connections;
    let application: string | null = null;
    let received = Buffer.alloc(0);
    client.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        application ??= applicationIn(message);
        const command = commandIn(message);
        const answer = command && state.answer({ name: nameOf(command), command, connection, application });
        if (answer === 'closed') client.destroy();
        else if (answer) client.write(answerTo(message, answer));
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
const opQuery = 2_004;
/** In OP_MSG the command follows a header of 16 bytes, the flags, and the kind of the first section. */
const beforeDocument = 21;
/** In OP_QUERY the name of the collection follows the header and the flags. */
const beforeCollection = 20;

/** The command of a message; null in a message of another form, such as the first of a connection. */
function commandIn(message: Buffer): Document | null {
  if (message.readInt32LE(12) !== opMsg || message[beforeDocument - 1] !== 0) return null;
  const command = documentAt(message, beforeDocument);
  // The documents of a write may follow the command in a section of its own: the section's length, the name of the
  // command's field, and the documents.
  for (let at = beforeDocument + message.readInt32LE(beforeDocument); at < message.length;) {
    const end = at + 1 + message.readInt32LE(at + 1);
    const nameEnd = message.indexOf(0, at + 5);
    const documents: Document[] = [];
    for (let from = nameEnd + 1; from < end; from += message.readInt32LE(from)) {
      documents.push(documentAt(message, from));
    }
    command[message.toString('utf8', at + 5, nameEnd)] = documents;
    at = end;
  }
  return command;
}

/** The application that the first message of a connection names: a query with two numbers before its document. */
function applicationIn(message: Buffer): string | null {
  if (message.readInt32LE(12) !== opQuery) return null;
  const hello = documentAt(message, message.indexOf(0, beforeCollection) + 1 + 8);
  return (hello as { client?: { application?: { name?: string } } }).client?.application?.name ?? null;
}

const documentAt = (message: Buffer, at: number): Document =>
  BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)));

function nameOf(command: Document): string {
  const [first] = Object.entries(command);
  return first ? `${first[0]} ${String(first[1])}` : '';
}

function answerTo(message: Buffer, answer: Refusal | Document): Buffer {
  const isRefusal = 'code' in answer;
  const refused = { ok: 0, codeName: 'Refused', errmsg: 'refused', errorLabels: [] };
  const body = Buffer.from(BSON.serialize({ ...(isRefusal ? refused : { ok: 1 }), ...answer }));
  const head = Buffer.alloc(beforeDocument);
  head.writeInt32LE(beforeDocument + body.length, 0);
  // The id of the request that this answers.
  head.writeInt32LE(message.readInt32LE(4), 8);
  head.writeInt32LE(opMsg, 12);
  return Buffer.concat([head, body]);
}
