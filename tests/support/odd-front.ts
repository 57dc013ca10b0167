import { createServer, request as forward } from 'node:http';
import { request as forwardTls } from 'node:https';
import { listen } from '../../shared/runtime/listen.ts';

/** `Retry-After` as servers before the API may send it. The API itself sends whole numbers. */
const oddForms = [() => new Date(Date.now() + 1_000).toUTCString(), () => '1, 2', () => '1.5', () => null];

export type OddFront = { url: string; refusals: () => number; close: () => void };

/** Starts a proxy before an API. It answers the first requests by itself, with 503 and each form of `Retry-After`. */
export async function startOddFront(apiUrl: string): Promise<OddFront> {
  const { protocol, hostname, port } = new URL(apiUrl);
  let refused = 0;
  const front = createServer((request, response) => {
    const form = oddForms[refused];
    if (form) {
      refused += 1;
      const value = form();
      response.writeHead(503, value === null ? {} : { 'retry-after': value }).end('maintenance');
      return;
    }
    const headers = { ...request.headers, 'x-forwarded-proto': 'https' };
    const options = { hostname, port, path: request.url, headers };
    const pass = protocol === 'https:' ? forwardTls : forward;
    pass({ ...options, rejectUnauthorized: false }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    }).end();
  });
  const { port: own } = await listen(front, '127.0.0.1', 0);
  const close = () => {
    front.closeAllConnections();
    front.close();
  };
  return { url: `http://127.0.0.1:${own}`, refusals: () => refused, close };
}

/** The number of requests that a front refuses before it passes all of them on. */
export const oddRefusals = oddForms.length;
