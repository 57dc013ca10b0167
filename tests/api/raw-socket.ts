import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ask } from './requests.ts';
import type { ApiProcess } from './api-processes.ts';
import { tokens } from './test-api.ts';

export const host = '127.0.0.1';

/** The bytes of a request as the trusted proxy sends it, the only one on its connection. */
export const requestText = (path: string, headers = '', token = tokens.a) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n${headers}Authorization: Bearer ${token}\r\n\r\n`;

/** Resolves with the open connection. A later error only closes it. */
export const open = ({ port }: ApiProcess, secure: boolean, protocol = 'http/1.1', localAddress = host) =>
  new Promise<Socket>((resolve, reject) => {
    const tls = { port, host, rejectUnauthorized: false, ALPNProtocols: [protocol] };
    const socket: Socket = secure
      ? connectTls(tls, () => resolve(socket))
      : connectTcp({ port, host, localAddress }, () => resolve(socket));
    socket.on('error', reject);
  });

/** All text received until the server closes the connection. */
export const untilClosed = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('close', () => resolve(text));
  });

/** An HTTP/2 client whose flow-control window is zero: it receives no body. */
export const openUnread = ({ port }: ApiProcess): Promise<ClientHttp2Session> =>
  new Promise((resolve, reject) => {
    const settings = { initialWindowSize: 0 };
    const session = connect(`https://${host}:${port}`, { rejectUnauthorized: false, settings });
    session.on('error', reject);
    session.once('remoteSettings', () => resolve(session));
  });

/** Requests a path and never reads the answer; returns the stream. */
export const askUnread = (session: ClientHttp2Session, path: string) =>
  session.request({ ':path': path, authorization: `Bearer ${tokens.a}` }).on('error', () => undefined);

/** Fails unless the service answers the platform's health check and a client with a key. */
export async function expectAnswering(child: ApiProcess): Promise<void> {
  const health = await ask(child, '/health', { secure: false });
  const page = await ask(child, '/v1/tickets?limit=1');
  expect([health.status, page.status]).toEqual([200, 200]);
}

/** The text of `/metrics` on the admin port. */
export const metricsOf = async ({ admin }: ApiProcess) => (await admin('/metrics')).text();

/** The value of one metric, given with its labels; NaN if there is none. */
export async function metricOf(child: ApiProcess, name: string): Promise<number> {
  const lines = (await metricsOf(child)).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
}
