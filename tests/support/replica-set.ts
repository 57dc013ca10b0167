import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

/** A member of the replica set, and a command that a client sent to it. */
export type Received = { member: 'primary' | 'secondary'; command: Document };

const headerBytes = 16;
const [opReply, opMsg] = [1, 2_013];
/** The fields of a replica set that a single store does not understand. */
const unknownFields = ['$readPreference', '$clusterTime', 'readConcern'];

/**
 * The store as a replica set of a primary and a secondary, and the commands that each received. Both forward every
 * command to the one store, and add a time to each reply, which rises from reply to reply. So it shows which member
 * clients read and which commands they send, but its secondary never lags.
 */
export async function startReplicaSet(mongodbUrl: string) {
  const store = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const hosts: Record<Received['member'], string> = { primary: '', secondary: '' };
  let seconds = 1_000;

  const completed = (reply: Document, member: Received['member']): Document => {
    const time = new BSON.Timestamp({ t: (seconds += 1), i: 1 });
    const signature = { hash: new BSON.Binary(Buffer.alloc(20)), keyId: BSON.Long.fromNumber(0) };
    const times = { operationTime: time, $clusterTime: { clusterTime: time, signature } };
    if (reply.maxWireVersion === undefined) return { ...reply, ...times };
    const isPrimary = member === 'primary';
    return {
      ...reply,
      ...times,
      ismaster: isPrimary,
      isWritablePrimary: isPrimary,
      secondary: !isPrimary,
      setName: 'rs',
      setVersion: 1,
      hosts: Object.values(hosts),
      me: hosts[member],
      primary: hosts.primary,
      logicalSessionTimeoutMinutes: 30,
      topologyVersion: undefined,
    };
  };
  const listen = async (member: Received['member']) => {
    const server = createServer((client) => {
      const upstream = connect(Number(store.port || 27_017), store.hostname);
      onMessages(client, (message) => {
        const { opCode, document, rebuilt } = parse(message);
        if (opCode === opMsg) received.push({ member, command: document });
        upstream.write(opCode === opMsg ? rebuilt(without(document, unknownFields)) : message);
      });
      onMessages(upstream, (message) => {
        const { document, rebuilt } = parse(message);
        client.write(rebuilt(completed(document, member)));
      });
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    hosts[member] = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return server;
  };
  const servers = [await listen('primary'), await listen('secondary')];
  return {
    url: `mongodb://${hosts.primary},${hosts.secondary}/?replicaSet=rs`,
    received,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
    },
  };
}

const without = (document: Document, names: string[]): Document =>
  Object.fromEntries(Object.entries(document).filter(([name]) => !names.includes(name)));

/** Calls `onMessage` with each whole message of the wire protocol. */
function onMessages(socket: Socket, onMessage: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= headerBytes && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  });
}

/** The document of a message, and the function that returns the message with another document. */
function parse(message: Buffer) {
  const opCode = message.readInt32LE(12);
  const bodyAt =
    opCode === opMsg ? headerBytes + 5 : opCode === opReply ? headerBytes + 20 : message.indexOf(0, 20) + 9;
  const document = BSON.deserialize(message.subarray(bodyAt), {
    promoteValues: false,
    allowObjectSmallerThanBufferSize: true,
  });
  const rebuilt = (other: Document) => {
    const changed = Buffer.concat([
      message.subarray(0, bodyAt),
      BSON.serialize(other, { ignoreUndefined: true }),
    ]);
    changed.writeInt32LE(changed.length, 0);
    return changed;
  };
  return { opCode, document, rebuilt };
}
