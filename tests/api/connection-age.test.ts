import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { Agent, get } from 'node:https';
import { useApi } from './test-api.ts';

/** A connection is closed after 13.5 to 16.5 minutes. */
const [youngMs, oldMs] = [13 * 60_000, 17 * 60_000];
let elapsedMs = 0;
const api = useApi({}, { hasTls: true, nowMs: () => performance.now() + elapsedMs });
beforeEach(() => (elapsedMs = 0));

describe('a connection that is older than 15 minutes, so that a balancer spreads its client again,', () => {
  it('ends with its next HTTP/1.1 response', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const connection = async () => {
      const request = get({ host: '127.0.0.1', port: api.port, path: '/health', agent });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      return response.headers.connection;
    };
    expect(await connection()).toBe('keep-alive');
    elapsedMs = youngMs;
    expect(await connection()).toBe('keep-alive');
    elapsedMs = oldMs;
    expect(await connection()).toBe('close');
    agent.destroy();
  });

  it('ends with its next HTTP/2 response', async () => {
    const session = connect(`https://127.0.0.1:${api.port}`, { rejectUnauthorized: false });
    const goaway = once(session, 'goaway');
    const status = async () => {
      const [headers] = (await once(session.request({ ':path': '/health' }).resume(), 'response')) as [
        { ':status': number },
      ];
      return headers[':status'];
    };
    expect(await status()).toBe(200);
    elapsedMs = youngMs;
    expect(await status()).toBe(200);
    expect(session.closed).toBe(false);
    elapsedMs = oldMs;
    expect(await status()).toBe(200);
    await goaway;
  });
});
