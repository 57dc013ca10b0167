import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { serveAdmin } from './admin-server.ts';
import { createLogger } from './logger.ts';

let server: Server | null;
let url: string;
beforeAll(async () => {
  const probes = { live: () => null, ready: () => 'stopping', metrics: new Registry() };
  const settings = { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 0 };
  server = await serveAdmin(settings, createLogger('test', 'silent'), probes);
  url = `http://127.0.0.1:${(server?.address() as AddressInfo).port}`;
});
afterAll(() => server?.close());

test.each([
  { method: 'GET', status: 200, body: 'ok\n', allow: null },
  { method: 'HEAD', status: 200, body: '', allow: null },
  { method: 'POST', status: 405, body: 'GET and HEAD are served here\n', allow: 'GET, HEAD' },
  { method: 'OPTIONS', status: 405, body: 'GET and HEAD are served here\n', allow: 'GET, HEAD' },
])('$method is answered with $status', async ({ method, status, body, allow }) => {
  const answer = await fetch(`${url}/livez`, { method });
  expect({ status: answer.status, body: await answer.text(), allow: answer.headers.get('allow') }).toEqual({
    status,
    body,
    allow,
  });
});
