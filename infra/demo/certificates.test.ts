import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificates } from './certificates.ts';

test('a client that trusts the authority can connect to the server, and no other client can', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
  const files = await createCertificates(folder);
  const [ca, cert, key] = await Promise.all([
    readFile(files.authority),
    readFile(files.certificate),
    readFile(files.key),
  ]);
  const server = createServer({ cert, key }, (_, response) => response.end('there'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (host: string, trusted?: Buffer) =>
    new Promise<number>((resolve, reject) => {
      const options = {
        host,
        port,
        ...(trusted ? { ca: trusted } : {}),
        lookup: undefined,
        agent: false as const,
      };
      get(options, (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
    });
  try {
    expect(await ask('localhost', ca)).toBe(200);
    expect(await ask('127.0.0.1', ca)).toBe(200);
    await expect(ask('localhost')).rejects.toThrow(/certificate/);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
