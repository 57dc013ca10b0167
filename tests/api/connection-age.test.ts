import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:https';
import { useApi } from './test-api.ts';

/** A connection is closed after 13.5 to 16.5 minutes. */
const youngMs = 13 * 60_000;
const oldMs = 17 * 60_000;
let elapsedMs = 0;
const api = useApi({}, { hasTls: true, nowMs: () => performance.now() + elapsedMs });
beforeEach(() => {
  elapsedMs = 0;
});

test('a connection that is older than 15 minutes ends with its next response', async () => {
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
