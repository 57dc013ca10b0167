import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/**
 * Serves responses of a possible later release of the API at `url`: each object has a field, and some fields have values,
 * that the document of this release lacks. It also says that the client used HTTPS.
 */
export async function startLaterRelease(url: string): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    const headers = { Authorization: request.headers.authorization ?? '', 'X-Forwarded-Proto': 'https' };
    void fetch(`${url}${request.url}`, { headers }).then(async (answer) => {
      const body = JSON.stringify(JSON.parse(await answer.text(), later));
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

function later(key: string, value: unknown): unknown {
  if (['status', 'state', 'entry'].includes(key) && typeof value === 'string') return 'added_later';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return { ...value, addedLater: 1, ...(key === 'error' && { type: 'added_later' }) };
}
