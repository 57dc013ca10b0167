import type { Socket } from 'node:net';
import { processesOf } from '../../shared/control/processes.ts';
import { eventually } from '../support/eventually.ts';
import { mebibyte, peakMegabytes } from '../support/memory.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, holdUnread, open, requestText, untilClosed } from './raw-socket.ts';

const apis = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });
let api: ApiProcess;
let secured: ApiProcess;

beforeAll(async () => {
  api = await apis.startServing();
  secured = await apis.startServing(apis.tls);
});

const statusOf = (answer: string) => /^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 'none';

describe('slow clients', () => {
  /** Writes `bytes`, then one more byte at a time for as long as the server allows it. */
  const dribble = async (socket: Socket, bytes = '') => {
    socket.write(bytes);
    const timer = setInterval(() => socket.write('x'), 300);
    const text = await untilClosed(socket);
    clearInterval(timer);
    return statusOf(text);
  };
  /** Writes nothing until the server closes the connection. */
  const staySilent = async (socket: Socket) => statusOf(await untilClosed(socket));

  test('are disconnected while other clients are served', async () => {
    const head = 'GET /v1/tickets HTTP/1.1\r\nHost: a\r\nX: ';
    const plain = await Promise.all(Array.from({ length: 50 }, () => open(api)));
    const closed = Promise.all([
      ...plain.map((socket) => dribble(socket, head)),
      dribble(await open(secured), head),
      staySilent(await open(secured)),
      staySilent(await open(secured, false)),
      dribble(await open(secured, false), '\x16'),
    ]);
    let areAllClosed = false;
    void closed.then(() => {
      areAllClosed = true;
    });
    await eventually(async () => {
      await Promise.all([api, secured].map(expectAnswering));
      return areAllClosed;
    });
    expect(await closed).toEqual([...plain.map(() => '408'), '408', '408', 'none', 'none']);
  });

  test('that send a body slowly get their answer without a wait for the body', async () => {
    const text = requestText('/v1/tickets?limit=1', 'Content-Length: 1000\r\n');
    expect(await dribble(await open(api), text)).toBe('200');
  });
});

test('clients that stop reading do not prevent an orderly stop', async () => {
  const { control, database } = apis.store;
  const message = { id: 'msg_1', conversationId: 'conv_1', content: 'x'.repeat(12_000_000) };
  await build.store(database, 'message', [build.message(message)]);
  await build.store(database, 'conversation', [build.conversation({ id: 'conv_1' })]);
  const stopping = await apis.startServing();
  await holdUnread(stopping, '/v1/conversations/conv_1/messages');
  expect(await stopping.stop()).toBe(0);
  await stopping.logged('closed connections with unread responses');
  expect(stopping.log.filter(({ level }) => level === 'error')).toEqual([]);
  expect(await processesOf(control).countDocuments({ pid: stopping.pid, state: 'running' })).toBe(0);
});

describe('oversized requests', () => {
  /** The response may be lost if the server closes the connection while the client still writes. */
  const unlessLost = (status: string) => [status, 'none'];

  test.each([
    ['a target of 1 MB', requestText(`/v1/tickets/${'x'.repeat(1_000_000)}`), unlessLost('431')],
    ['a header of 1 MB', requestText('/v1/tickets', `X: ${'x'.repeat(1_000_000)}\r\n`), unlessLost('431')],
    ['5,000 headers', requestText('/v1/tickets', 'a:\r\n'.repeat(5_000)), ['431']],
    ['4,000 parameters', requestText(`/v1/tickets?${'a&'.repeat(4_000)}`), ['422']],
    [
      'a list of 10,000 tags',
      requestText('/v1/tickets', `If-None-Match: ${'"",'.repeat(10_000)}\r\n`),
      ['200'],
    ],
    [
      'a chunk with a long extension',
      `${requestText('/health', 'Transfer-Encoding: chunked\r\n')}1;${'x'.repeat(1_000_000)}`,
      unlessLost('400'),
    ],
  ])('%s do not delay other clients', async (_, bytes, statuses) => {
    const socket = await open(api);
    const answered = untilClosed(socket);
    socket.write(bytes);
    expect(statuses).toContain(statusOf(await answered));
    await expectAnswering(api);
  });

  test('a body of 100 MB is not kept in memory', async () => {
    const before = peakMegabytes(api);
    const socket = await open(api);
    const closed = untilClosed(socket);
    socket.write(requestText('/v1/tickets', 'Content-Length: 104857600\r\n'));
    const mebibyteOfBody = Buffer.alloc(mebibyte);
    for (let sent = 0; sent < 100 && socket.writable; sent += 1) {
      await new Promise((resolve) => socket.write(mebibyteOfBody, resolve));
    }
    await closed;
    expect(peakMegabytes(api) - before).toBeLessThan(50);
    await expectAnswering(api);
  });
});
