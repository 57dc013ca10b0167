import type { Socket } from 'node:net';
import { eventually, succeeds } from '../support/eventually.ts';
import { residentBytes } from '../support/memory.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, metricOf, open } from './raw-socket.ts';
import { ask } from './requests.ts';

const apis = useApiProcesses({
  ticket: [build.ticket({ id: 'ti_1' })],
  conversation: [build.conversation({ id: 'conv_large' })],
  message: [build.message({ id: 'msg_1', conversationId: 'conv_large', content: 'x'.repeat(12_000_000) })],
  apiKey: [build.apiKey('svc_live_second', { id: 'key_second' })],
});
let api: ApiProcess;

beforeAll(async () => {
  api = await apis.startServing(apis.tls);
});

/** Whether the connection is admitted: it is answered and stays open. */
const isAdmitted = (socket: Socket) =>
  new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  });

/** Opens a connection; null if the API closes it during its handshake. */
const tryOpen = (apiProcess: ApiProcess, isTls = apiProcess.isTls, from?: string): Promise<Socket | null> =>
  open(apiProcess, isTls, from).catch(() => null);

/** Whether a further connection is closed at once, before or after its handshake. */
async function isRefused(apiProcess: ApiProcess): Promise<boolean> {
  const socket = await tryOpen(apiProcess);
  return socket === null || !(await isAdmitted(socket));
}

/** Opens connections until all are admitted; connections that are still closing may count at first. */
async function holdAll(apiProcess: ApiProcess, count: number, from?: string): Promise<Socket[]> {
  const held: Socket[] = [];
  while (held.length < count) {
    const socket = await tryOpen(apiProcess, apiProcess.isTls, from);
    if (socket && (await isAdmitted(socket))) held.push(socket);
  }
  return held;
}

describe('idle connections', () => {
  test('cost at most 150 kB each', async () => {
    const before = residentBytes(api);
    const idle: Socket[] = [];
    // A connection may be idle for 65 s after a request but only for 10 s before it, so they open in groups of 50.
    while (idle.length < 1_000) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => open(api)));
      expect(await Promise.all(sockets.map(isAdmitted))).toEqual(sockets.map(() => true));
      idle.push(...sockets);
    }
    await expectAnswering(api);
    expect(idle.filter(({ destroyed }) => destroyed)).toEqual([]);
    expect(residentBytes(api) - before).toBeLessThan(1_000 * 150_000);
    for (const socket of idle) socket.destroy();
  });

  test('above the connection limit are closed without an answer', async () => {
    const small = await apis.startServing({ ...apis.tls, API_CONNECTIONS_MAX: '20' });
    // Connections of each kind that were opened and closed no longer count.
    for (let round = 0; round < 30; round += 1) {
      for (const isTls of [true, false]) {
        const socket = await tryOpen(small, isTls);
        socket?.destroy();
      }
    }
    const held = await holdAll(small, 20);
    const refused = await metricOf(small, 'api_connections_refused_total');
    expect(await isRefused(small)).toBe(true);
    expect(await metricOf(small, 'api_connections_refused_total')).toBe(refused + 1);
    for (const socket of held) socket.destroy();
    await eventually(() => succeeds(expectAnswering(small)));
  });

  test('from one address are closed above its limit, except those of trusted proxies', async () => {
    const settings = { API_TRUSTED_PROXIES: '127.0.0.1,127.0.0.9', API_CONNECTIONS_MAX: '100' };
    const small = await apis.startServing(settings);
    const held = await holdAll(small, 10, '127.0.0.2');
    const refused = await metricOf(small, 'api_connections_refused_total');
    expect(await isAdmitted(await open(small, false, '127.0.0.2'))).toBe(false);
    expect(await metricOf(small, 'api_connections_refused_total')).toBe(refused + 1);
    expect((await ask(small, '/v1/tickets?limit=1')).status).toBe(200);
    const proxied = await holdAll(small, 30, '127.0.0.9');
    expect(await metricOf(small, 'api_connections_refused_total')).toBe(refused + 1);
    // A closed connection frees capacity for another connection.
    held.pop()?.destroy();
    held.push(...(await holdAll(small, 1, '127.0.0.2')));
    for (const socket of [...held, ...proxied]) socket.destroy();
  });
});
