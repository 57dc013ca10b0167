import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import Koa from 'koa';
import { pino } from 'pino';
import { createMetrics } from '../metrics.ts';
import { accessLog } from './access-log.ts';
import { requestId } from './request-id.ts';

test('a request whose client leaves before its response is logged as aborted, with 499; an answered one is not', async () => {
  const logged: { status: number; aborted?: boolean }[] = [];
  const lines = Promise.withResolvers<void>();
  const write = (line: string) => {
    logged.push(JSON.parse(line) as (typeof logged)[number]);
    if (logged.length === 2) lines.resolve();
  };
  const app = new Koa()
    .use(requestId)
    .use(accessLog({ logger: pino({}, { write }), trace: null, ...createMetrics() }))
    .use(async (context) => {
      if (context.path === '/answered') context.body = 'ok';
      else await once(context.req.socket.destroy(), 'close');
    });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const path of ['/answered', '/left']) {
    const socket = connect(port, '127.0.0.1');
    socket.end(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`).resume();
    await once(socket, 'close');
  }
  await lines.promise;
  expect(logged.map(({ status, aborted }) => [status, aborted])).toEqual([
    [200, undefined],
    [499, true],
  ]);
  server.close();
});
