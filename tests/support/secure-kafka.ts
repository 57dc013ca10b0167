import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { installKafka, prepareBroker } from '../../infra/dev-servers/native/kafka.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { type Server, startServer } from '../../infra/dev-servers/native/server.ts';

/** A broker with a second listener, over TLS or for users. A restart makes it read its certificates again. */
export type SecureKafka = Server & {
  /** The address of the listener without TLS. */
  plain: string;
  /** The address of the second listener. */
  secure: string;
  /** The address of a listener that advertises `misleadsTo`, which nothing resolves. */
  misleading: string;
  misleadsTo: string;
};

/** Starts a broker with its data in `folder`. The file `keystore` (PEM) holds the key and the certificate for TLS. */
export const startSecureKafka = (
  folder: string,
  keystore: string,
  protocol: 'SSL' | 'SASL_SSL',
  settings: Record<string, string> = {},
): Promise<SecureKafka> =>
  startListeners(folder, {
    protocol,
    listener: { 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': keystore, ...settings },
  });

/** The only user of a broker that `startGuardedKafka` starts, as the settings of a service. */
export const guardedUser = {
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: 'reader',
  KAFKA_SASL_PASSWORD: 'secret',
};

/**
 * Starts a broker with its data in `folder` whose second listener admits `guardedUser`, without TLS. That user has the
 * rights that ACLs give it; clients of the plain listener have every right.
 */
export const startGuardedKafka = (folder: string): Promise<SecureKafka> => {
  const { KAFKA_SASL_USERNAME: name, KAFKA_SASL_PASSWORD: password } = guardedUser;
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
  return startListeners(folder, {
    protocol: 'SASL_PLAINTEXT',
    listener: {
      'sasl.enabled.mechanisms': 'PLAIN',
      'plain.sasl.jaas.config': `${login} user_${name}="${password}";`,
    },
    broker: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      'group.max.session.timeout.ms': '60000',
    },
  });
};

type Listeners = {
  protocol: string;
  /** Settings of the second listener. */
  listener: Record<string, string>;
  /** Settings of the broker. */
  broker?: Record<string, string>;
};

const misleadsTo = 'kafka.invalid:9092';

async function startListeners(folder: string, { protocol, listener, broker = {} }: Listeners) {
  await installKafka(() => undefined);
  const [plain = 0, controller = 0, secure = 0, misleading = 0] = await freePorts(4);
  const part = prepareBroker(join(folder, 'kafka'), { id: 1, broker: plain, controller });
  const pairs = Object.entries(listener).map(([name, value]) => [`listener.name.secure.${name}`, value]);
  // If a file sets a property twice, Kafka uses the later value.
  appendFileSync(
    join(folder, 'kafka', 'server.properties'),
    [
      `listeners=PLAINTEXT://127.0.0.1:${plain},CONTROLLER://127.0.0.1:${controller},SECURE://127.0.0.1:${secure},ASTRAY://127.0.0.1:${misleading}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SECURE://localhost:${secure},ASTRAY://${misleadsTo}`,
      `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:${protocol},ASTRAY:PLAINTEXT`,
      ...[...pairs, ...Object.entries(broker)].map(([name, value]) => `${name}=${value}`),
      '',
    ].join('\n'),
  );
  const server = await startServer([part]);
  return {
    ...server,
    plain: `127.0.0.1:${plain}`,
    secure: `localhost:${secure}`,
    misleading: `127.0.0.1:${misleading}`,
    misleadsTo,
  };
}
