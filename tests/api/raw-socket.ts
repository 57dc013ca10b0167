import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ApiProcess } from './api-processes.ts';
import { ask } from './requests.ts';
import { tokens } from './test-api.ts';

export const host = '127.0.0.1';

/** The bytes of a request as the trusted proxy sends it, the only one on its connection. */
export const requestText = (path: string, headers = '', token = tokens.a) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n${headers}Authorization: Bearer ${token}\r\n\r\n`;

/** Resolves with the open connection, over TLS if the process serves it. A later error only closes it. */
export const open = ({ port, isTls }: ApiProcess, secure = isTls, localAddress = host) =>
  new Promise<Socket>((resolve, reject) => {
    const tls = { port, host, rejectUnauthorized: false };
    const socket: Socket = secure
      ? connectTls(tls, () => resolve(socket))
      : connectTcp({ port, host, localAddress }, () => resolve(socket));
    socket.on('error', reject);
  });

/** All text received until the server closes the connection. */
export const untilClosed = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
  });

/** Writes bytes to the port and returns everything received until the connection closes. */
export async function send(api: ApiProcess, bytes: string, secure = api.isTls): Promise<string> {
  const socket = await open(api, secure);
  socket.write(bytes);
  return untilClosed(socket);
}

/** Requests an answer that is too large for the sockets' buffers, and does not read it; resolves when it has begun. */
export async function holdUnread(api: ApiProcess, path: string, token = tokens.a): Promise<Socket> {
  const socket = await open(api);
  socket.write(requestText(path, '', token));
  await new Promise((resolve) => socket.once('readable', resolve));
  return socket;
}

/** Fails unless the service answers the platform's health check and a client with a key. */
export async function expectAnswering(api: ApiProcess): Promise<void> {
  const health = await ask(api, '/health');
  const page = await ask(api, '/v1/tickets?limit=1');
  expect([health.status, page.status]).toEqual([200, 200]);
}

/** The value of a metric, whose name includes its labels; NaN if the process does not export the metric. */
export async function metricOf({ admin }: ApiProcess, name: string): Promise<number> {
  const response = await admin('/metrics');
  const lines = (await response.text()).split('\n');
  const line = lines.find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? NaN : Number(line.slice(name.length));
}
