import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { eventually } from '../../tests/support/eventually.ts';
import { useOpened } from '../../tests/support/use-opened.ts';
import { patchKafkajs } from './kafkajs-patch.ts';
import { closingSilentConnections } from './silent-connections.ts';

type Request = { requestTimeout?: number };
type Connection = {
  connect: () => Promise<boolean>;
  disconnect: () => Promise<boolean>;
  isConnected: () => boolean;
  send: (call: object) => Promise<unknown>;
};

const require = createRequire(import.meta.url);
const KafkajsConnection = require('kafkajs/src/network/connection') as new (options: object) => Connection;
const Encoder = require('kafkajs/src/protocol/encoder') as new () => object;

const limitMs = 1_000;
const ignore = () => undefined;
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** A broker that answers each request by `state.answer`. */
const opened = useOpened(
  async () => {
    patchKafkajs();
    const sockets: Socket[] = [];
    const closed = new Set<Socket>();
    const state = { answer: (socket: Socket, response: Buffer) => void socket.write(response) };
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', ignore).on('close', () => closed.add(socket));
      socket.on('data', (data: Buffer) => {
        for (let start = 0; start < data.length; start += 4 + data.readInt32BE(start)) {
          // The number of the request comes after its length, its kind and its version.
          const response = Buffer.alloc(8);
          response.writeInt32BE(4);
          data.copy(response, 4, start + 8, start + 12);
          state.answer(socket, response);
        }
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const connections: Connection[] = [];
    return {
      sockets,
      closed,
      state,
      create: () => {
        const options = {
          host: '127.0.0.1',
          port,
          requestTimeout: limitMs,
          connectionTimeout: 5_000,
          logger: { ...quiet, namespace: () => quiet },
          socketFactory: ({ onConnect }: { onConnect: () => void }) => connect(port, '127.0.0.1', onConnect),
        };
        const connection = new KafkajsConnection(options);
        connections.push(connection);
        return connection;
      },
      close: async () => {
        for (const socket of sockets) socket.destroy();
        await promisify(server.close.bind(server))();
      },
    };
  },
  { each: true },
);

/** Sends a request as the pool of kafkajs does: on a connection that is open. */
async function ask(connection: Connection, { requestTimeout }: Request = {}): Promise<string> {
  if (!connection.isConnected()) await connection.connect();
  const request = { apiKey: 3, apiVersion: 0, apiName: 'Metadata', encode: async () => new Encoder() };
  const response = { decode: async () => ({}), parse: async () => 'answered' };
  const call = { request, response, requestTimeout, logResponseError: false };
  return connection.send(call).then(String, (error: Error) => error.name);
}

const noAnswer = () => undefined;
const timedOut = 'KafkaJSRequestTimeoutError';

test('a request that times out closes its connection, and the next request opens another', async () => {
  const { create, state, sockets, closed } = opened;
  const connection = create();
  const answer = state.answer;
  state.answer = noAnswer;
  expect(await ask(connection)).toBe(timedOut);
  await eventually(() => closed.has(sockets[0] as Socket));
  state.answer = answer;
  expect(await ask(connection)).toBe('answered');
  expect(sockets).toHaveLength(2);
});

test('a timeout closes the connections that have been silent for most of the wait', async () => {
  const { create, state, sockets, closed } = opened;
  const cut = create();
  const idle = create();
  const used = create();
  for (const connection of [idle, used, cut]) expect(await ask(connection)).toBe('answered');
  const answer = state.answer;
  const cutOff = sockets[2];
  state.answer = (socket, response) => {
    if (socket !== cutOff) answer(socket, response);
  };
  const asking = ask(cut);
  await new Promise((resolve) => setTimeout(resolve, limitMs / 2));
  expect(await ask(used)).toBe('answered');
  expect(await asking).toBe(timedOut);
  expect([cut, idle, used].map((connection) => connection.isConnected())).toEqual([false, false, true]);
  await eventually(() => closed.size === 2);
  expect(await ask(idle)).toBe('answered');
});

test('a timeout closes an idle connection whose last answer came right after the request', async () => {
  const { create, state, sockets, closed } = opened;
  const cut = create();
  const idle = create();
  for (const connection of [idle, cut]) expect(await ask(connection)).toBe('answered');
  const answer = state.answer;
  state.answer = (socket, response) => {
    if (socket !== sockets[1]) answer(socket, response);
  };
  const asking = ask(cut, { requestTimeout: 4 * limitMs });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await ask(idle)).toBe('answered');
  expect(await asking).toBe(timedOut);
  await eventually(() => closed.size === 2);
});

test('a request that waits behind a longer one does not close the connection', async () => {
  const { create, state, sockets } = opened;
  const connection = create();
  const answers: (() => void)[] = [];
  const answer = state.answer;
  state.answer = (socket, response) => void answers.push(() => answer(socket, response));
  const joining = ask(connection, { requestTimeout: 60_000 });
  await eventually(() => answers.length === 1);
  expect(await ask(connection)).toBe(timedOut);
  for (const send of answers) send();
  expect(await joining).toBe('answered');
  expect(sockets).toHaveLength(1);
});

test('a process that ends closes a connection that is silent for the limit', async () => {
  const { create, state, sockets, closed } = opened;
  const connection = create();
  state.answer = noAnswer;
  const asked = await closingSilentConnections(50, () => ask(connection, { requestTimeout: 60_000 }));
  expect(asked).toBe('KafkaJSConnectionClosedError');
  await eventually(() => closed.has(sockets[0] as Socket));
});

test('the rest of a response on a lost connection is not the beginning of the next one', async () => {
  const { create, state } = opened;
  const connection = create();
  const answer = state.answer;
  state.answer = (socket, response) => void socket.end(response.subarray(0, 6));
  expect(await ask(connection)).toMatch(/^KafkaJSConnection/);
  state.answer = answer;
  expect(await ask(connection)).toBe('answered');
});

test('two requests that find a connection closed open one socket', async () => {
  const { create, sockets } = opened;
  const connection = create();
  expect(await Promise.all([ask(connection), ask(connection)])).toEqual(['answered', 'answered']);
  expect(sockets).toHaveLength(1);
});

test('an attempt that is ended cannot succeed later', async () => {
  const { create } = opened;
  const connection = create();
  const connecting = connection.connect().then(String, (error: Error) => error.message);
  await connection.disconnect();
  expect(await connecting).toBe('Connection error: disconnected');
  expect(connection.isConnected()).toBe(false);
  expect(await ask(connection)).toBe('answered');
});

test('a socket that was ended does not affect the next connection', async () => {
  const { create, sockets, closed } = opened;
  const connection = create();
  expect(await ask(connection)).toBe('answered');
  await connection.disconnect();
  expect(await ask(connection)).toBe('answered');
  await eventually(() => closed.has(sockets[0] as Socket));
  expect(await ask(connection)).toBe('answered');
  expect(sockets).toHaveLength(2);
});
