import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { createSelfSigned } from '../../infra/certificate.ts';
import { listen } from '../../shared/runtime/listen.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { matching } from '../support/matchers.ts';
import { useFolder } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

const folder = useFolder();
const { environment, start, publish, applied } = useProjector({ projectors: 0 });
const sockets = new Set<Socket>();
let proxy: Server;

/** A proxy that decrypts TLS in front of MongoDB. */
beforeAll(async () => {
  const { cert, key } = await createSelfSigned();
  writeFileSync(join(folder.path, 'authority.pem'), cert);
  const target = new URL(environment.config.MONGODB_URL.replace('mongodb:', 'http:'));
  proxy = createServer({ cert, key }, (client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, upstream].forEach((endpoint) => endpoint.destroy()));
    }
    client.pipe(upstream).pipe(client);
  });
  // The client may break off its handshake.
  proxy.on('tlsClientError', () => undefined);
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  proxy.close();
});

test('a projector ends with a fix if MongoDB has a certificate of another authority', async () => {
  const { port } = await listen(proxy, '127.0.0.1', 0);
  const url = new URL(environment.config.MONGODB_URL);
  url.hostname = 'localhost';
  url.port = String(port);
  url.searchParams.set('directConnection', 'true');
  url.searchParams.set('tls', 'true');
  url.searchParams.set('tlsCAFile', join(folder.path, 'authority.pem'));
  url.searchParams.set('serverSelectionTimeoutMS', '500');
  const projector = await start({ settings: { MONGODB_URL: url.href }, refusalLimitMs: 1_000 });
  await publish(created('tag', 'tag_1'));
  await applied();
  // The certificate is renewed, and the connections end.
  proxy.setSecureContext(await createSelfSigned());
  for (const socket of sockets) socket.destroy();
  await eventually(() => projector.fatal.length > 0);
  expect(projector.fatal[0]).toMatchObject({ name: 'Refused', message: matching(/tlsCAFile/) });
});
