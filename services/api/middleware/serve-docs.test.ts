import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Assets } from '../docs/assets.ts';
import { specFor } from '../openapi/write.ts';
import { createMetrics } from '../metrics.ts';
import { errorHandler } from './error-handler.ts';
import { requestId } from './request-id.ts';
import { serveDocs } from './serve-docs.ts';

it('no cache keeps an error: an asset that cannot be read is 500 without its headers, then served', async () => {
  const docs = { docsUrl: undefined, baseUrl: undefined };
  const limit = { requests: 0, windowSeconds: 60 };
  const reads = [() => Promise.reject(new Error('EMFILE')), () => Promise.resolve(Buffer.from('a {}'))];
  const assets: Assets = {
    folder: '/docs/assets/0',
    at: (path) =>
      path === '/docs/assets/0/a.css' ? { name: 'a.css', type: 'text/css', isCurrent: true } : null,
    read: () => reads.shift()?.() as Promise<Buffer>,
  };
  const app = new Koa()
    .use(requestId)
    .use(errorHandler({ docs, ...createMetrics() }))
    .use(
      serveDocs(
        { docs, limit, keyPrefix: 'svc', clientPackage: 'client', spec: specFor().published },
        assets,
      ),
    );
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs/assets/0/a.css`;
  const failed = await fetch(url);
  expect([failed.status, failed.headers.get('cache-control')]).toEqual([500, 'private, no-cache']);
  expect(failed.headers.get('content-security-policy')).toBeNull();
  const served = await fetch(url);
  expect([served.status, served.headers.get('cache-control')]).toEqual([
    200,
    'public, max-age=31536000, immutable',
  ]);
  server.close();
});
