import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ask } from './requests.ts';
import type { Child } from './api-process.ts';
import { tokens } from './test-api.ts';

export const host = '127.0.0.1';

/** A request as a client behind the trusted proxy writes it, the only one on its connection. */
export const requestText = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n${headers}Authorization: Bearer ${tokens.a}\r\n\r\n`;

/** Resolves with the open connection; what goes wrong with it later is seen by its closing. */
export const open = ({ port }: Child, secure: boolean, protocol = 'http/1.1', localAddress = host) =>
  new Promise<Socket>((resolve, reject) => {
    const tls = { port, host, rejectUnauthorized: false, ALPNProtocols: [protocol] };
    const socket: Socket = secure
      ? connectTls(tls, () => resolve(socket))
      : connectTcp({ port, host, localAddress }, () => resolve(socket));
    socket.on('error', reject);
  });

/** All that comes until the server has closed the connection. */
export const untilClosed = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('close', () => resolve(text));
  });

/** A client of HTTP/2 that takes nothing of what it asks for. */
export const openUnread = ({ port }: Child): Promise<ClientHttp2Session> =>
  new Promise((resolve, reject) => {
    const settings = { initialWindowSize: 0 };
    const session = connect(`https://${host}:${port}`, { rejectUnauthorized: false, settings });
    session.on('error', reject);
    session.once('remoteSettings', () => resolve(session));
  });

/** Asks for a path without ever reading; gives the stream. */
export const askUnread = (session: ClientHttp2Session, path: string) =>
  session.request({ ':path': path, authorization: `Bearer ${tokens.a}` }).on('error', () => undefined);

/** Fails unless the service answers others: the platform, and a client with a key. */
export async function expectAnswering(child: Child): Promise<void> {
  const health = await ask(child, '/health', { secure: false });
  const page = await ask(child, '/v1/tickets?limit=1');
  expect([health.status, page.status]).toEqual([200, 200]);
}

/** All that the admin port shows at `/metrics`. */
export async function metricsOf({ lines }: Child): Promise<string> {
  const port = Number(lines.find(({ msg }) => msg === 'admin listening')?.port);
  return (await fetch(`http://${host}:${port}/metrics`)).text();
}

/** A number that the admin port shows. */
export async function metricOf(child: Child, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await metricsOf(child))?.[1]);
}
