import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import Koa from 'koa';
import { pino } from 'pino';
import { eventually } from '../../../tests/support/eventually.ts';
import { createMetrics } from '../metrics.ts';
import { accessLog } from '../middleware/access-log.ts';
import { requestId } from '../middleware/request-id.ts';
import type { Trace } from '../traces/tracer.ts';
import { answerUnparsed } from './parser-errors.ts';

test.each([
  {
    name: 'gets a 400 if the application has not started to handle it',
    isInProgress: false,
    outcome: { status: 400, code: 'malformed_request' },
    received: /^HTTP\/1.1 400 /,
  },
  {
    name: 'ends by a reset of its connection if it is in progress',
    isInProgress: true,
    outcome: { status: 499, aborted: true },
    received: /^ECONNRESET$/,
  },
])(
  'a request whose body turns out to be invalid has one log line and one trace, and $name',
  async ({ isInProgress, outcome, received }) => {
    // given a server, and a request that has sent its head
    const lines: unknown[] = [];
    const traces: unknown[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const trace: Trace = (request) => void traces.push(request);
    const admitUnauthenticated = () => true;
    const app = new Koa()
      .use(requestId)
      .use(accessLog({ logger, trace, admitUnauthenticated, ...createMetrics() }))
      .use(() => new Promise(() => undefined));
    const server = createServer();
    server.on('clientError', (error, socket) =>
      answerUnparsed({ logger, baseUrl: undefined, trace, admitUnauthenticated }, error, socket),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const answer = text(client).catch((error: NodeJS.ErrnoException) => String(error.code));
    client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const [request, response] = (await once(server, 'request')) as [ServerResponse['req'], ServerResponse];
    request.resume();
    // The application never ends a request that it has started to handle.
    if (isInProgress) void app.callback()(request, response);
    let isClosed = false;
    response.once('close', () => {
      isClosed = true;
    });

    // when its body continues with a text that is no hexadecimal chunk size
    client.write('zz\r\n');

    // then one log line and one trace have the outcome
    expect(await answer).toMatch(received);
    await eventually(() => isClosed);
    expect(lines).toMatchObject([outcome]);
    expect(traces).toMatchObject([outcome]);
    server.close();
  },
);
