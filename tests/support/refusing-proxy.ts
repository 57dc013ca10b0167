import { createServer, request as forward } from 'node:http';
import { request as forwardTls } from 'node:https';
import { listen } from '../../shared/runtime/listen.ts';

/** `Retry-After` as proxies in front of the API may send it. The API itself sends whole numbers. */
const retryAfterForms = [
  () => new Date(Date.now() + 1_000).toUTCString(),
  () => '1, 2',
  () => '1.5',
  () => null,
];

export type RefusingProxy = { url: string; refusals: () => number; close: () => void };

/** Starts a proxy of an API. It answers the first requests by itself, with 503 and each form of `Retry-After`. */
export async function startRefusingProxy(apiUrl: string): Promise<RefusingProxy> {
  const { protocol, hostname, port } = new URL(apiUrl);
  let refused = 0;
  const server = createServer((request, response) => {
    const form = retryAfterForms[refused];
    if (form) {
      refused += 1;
      const value = form();
      response.writeHead(503, value === null ? {} : { 'retry-after': value }).end('maintenance');
      return;
    }
    const headers = { ...request.headers, 'x-forwarded-proto': 'https' };
    const options = { hostname, port, path: request.url, headers };
    const send = protocol === 'https:' ? forwardTls : forward;
    send({ ...options, rejectUnauthorized: false }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    }).end();
  });
  const { port: ownPort } = await listen(server, '127.0.0.1', 0);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${ownPort}`, refusals: () => refused, close };
}

/** The number of requests that the proxy refuses before it forwards all of them. */
export const refusalCount = retryAfterForms.length;
