import type { Server } from 'node:http';
import { Registry } from 'prom-client';
import { startAdminServer } from './admin-server.ts';

let server: Server;
let url: string;
beforeAll(async () => {
  const probes = { live: () => null, ready: () => 'stopping' };
  const started = await startAdminServer({ ...probes, host: '127.0.0.1', port: 0, metrics: new Registry() });
  server = started.server;
  url = `http://127.0.0.1:${started.port}`;
});
afterAll(() => server.close());

it.each([
  ['GET', 200, 'ok\n', null],
  ['HEAD', 200, '', null],
  ['POST', 405, 'GET and HEAD are served here\n', 'GET, HEAD'],
  ['OPTIONS', 405, 'GET and HEAD are served here\n', 'GET, HEAD'],
])('%s is answered with %d', async (method, status, body, allow) => {
  const answer = await fetch(`${url}/livez`, { method });
  expect([answer.status, await answer.text(), answer.headers.get('allow')]).toEqual([status, body, allow]);
});
