import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { installKafka, kafkaPart } from '../../infra/dev-servers/native/kafka.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer, type Server } from '../../infra/dev-servers/native/server.ts';

/** A broker with a second listener, over TLS. A restart makes it read its certificates again. */
export type SecureKafka = Server & {
  /** The address of the listener without TLS. */
  plain: string;
  /** The address of the listener over TLS. */
  secure: string;
};

/** Starts a broker with its data in `folder`. The file `keystore` (PEM) holds the key and the certificate for TLS. */
export async function startSecureKafka(
  folder: string,
  keystore: string,
  protocol: 'SSL' | 'SASL_SSL',
  settings: Record<string, string> = {},
): Promise<SecureKafka> {
  await installKafka(() => undefined);
  const [plain = 0, controller = 0, secure = 0] = await freePorts(3);
  const part = kafkaPart(join(folder, 'kafka'), { id: 1, broker: plain, controller });
  const tls = { 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': keystore, ...settings };
  // Of a property that is set twice, the later value holds.
  appendFileSync(
    join(folder, 'kafka', 'server.properties'),
    [
      `listeners=PLAINTEXT://127.0.0.1:${plain},CONTROLLER://127.0.0.1:${controller},SECURE://127.0.0.1:${secure}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SECURE://localhost:${secure}`,
      `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:${protocol}`,
      ...Object.entries(tls).map(([name, value]) => `listener.name.secure.${name}=${value}`),
      '',
    ].join('\n'),
  );
  const server = await startServer([part]);
  return { ...server, plain: `127.0.0.1:${plain}`, secure: `localhost:${secure}` };
}
