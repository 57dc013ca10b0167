import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { pino } from 'pino';
import { createAuthority, createSelfSigned } from '../../infra/certificate.ts';
import { useFolder } from '../../tests/support/use-opened.ts';
import { listen } from '../runtime/listen.ts';
import { createCertificateReader, createSocketFactory } from './socket-factory.ts';

const folder = useFolder();
const closing: (() => void)[] = [];
afterAll(() => closing.forEach((close) => close()));
const lines: string[] = [];
const logger = pino({}, { write: (line) => lines.push((JSON.parse(line) as { msg: string }).msg) });
const rejected = 'new certificates for the brokers rejected; keeping the current ones';

test('each connection uses the latest files that fit together', async () => {
  const trimmed = ({ cert, key }: Awaited<ReturnType<typeof createSelfSigned>>) => ({
    cert: cert.trim(),
    key: key.trim(),
  });
  const first = trimmed(await createSelfSigned());
  const second = trimmed(await createSelfSigned());
  const path = (name: string) => join(folder.path, name);
  const files = { KAFKA_TLS_CA: path('ca'), KAFKA_TLS_CERT: path('cert'), KAFKA_TLS_KEY: path('key') };
  const certificates = (ca: string, cert: string, key: string) => ({
    KAFKA_TLS_CA: ca,
    KAFKA_TLS_CERT: cert,
    KAFKA_TLS_KEY: key,
  });
  const start = certificates(first.cert, first.cert, first.key);
  for (const [name, value] of Object.entries(start)) writeFileSync(files[name as 'KAFKA_TLS_CA'], value);
  const read = createCertificateReader(start, files, logger);
  expect(read()).toEqual(start);
  // The certificate is replaced before its key.
  writeFileSync(files.KAFKA_TLS_CERT, second.cert);
  expect([read(), read()]).toEqual([start, start]);
  expect(lines.splice(0)).toEqual([rejected]);
  writeFileSync(files.KAFKA_TLS_KEY, second.key);
  expect(read()).toEqual(certificates(first.cert, second.cert, second.key));
  expect(lines.splice(0)).toEqual(['new certificates in use for connections to the brokers']);
  // A bundle of the old and the new authority, with the line break of an editor.
  writeFileSync(files.KAFKA_TLS_CA, `${first.cert}\n${second.cert}\n`);
  const renewed = certificates(`${first.cert}\n${second.cert}`, second.cert, second.key);
  expect(read()).toEqual(renewed);
  await rm(files.KAFKA_TLS_CA);
  expect(read()).toEqual(renewed);
  writeFileSync(files.KAFKA_TLS_CA, 'half a certif');
  expect(read()).toEqual(renewed);
  expect(lines).toEqual(['new certificates in use for connections to the brokers', rejected, rejected]);
});

test('a value of the environment is used as it is', () => {
  const certificates = { KAFKA_TLS_CA: 'of the environment' };
  expect(createCertificateReader(certificates, {}, logger)()).toBe(certificates);
});

test('a connection trusts the latest authorities of the file', async () => {
  const first = await createAuthority();
  const second = await createAuthority();
  const file = join(folder.path, 'authorities');
  const server = createServer(await first.issue(), (socket) => socket.on('error', () => undefined).end());
  closing.push(() => server.close());
  server.on('tlsClientError', () => undefined);
  const { port } = await listen(server, '127.0.0.1', 0);
  writeFileSync(file, first.cert);
  const certificates = { KAFKA_TLS_CA: first.cert };
  const factory = createSocketFactory(createCertificateReader(certificates, { KAFKA_TLS_CA: file }, logger));
  const connected = () =>
    new Promise<unknown>((resolve) => {
      const socket = factory({ host: 'localhost', port, ssl: {}, onConnect: () => resolve(true) });
      socket.on('error', ({ code }: Error & { code?: string }) => resolve(code)).resume();
    });
  expect(await connected()).toBe(true);
  server.setSecureContext(await second.issue());
  expect(await connected()).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  writeFileSync(file, `${first.cert}\n${second.cert}`);
  expect(await connected()).toBe(true);
});
