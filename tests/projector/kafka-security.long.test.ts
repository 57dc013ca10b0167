import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createSelfSigned } from '../../infra/certificate.ts';
import { startService } from '../../infra/service.ts';
import { created } from '../support/entities.ts';
import { type SecureKafka, startSecureKafka } from '../support/secure-kafka.ts';
import { useProjector } from '../support/use-projector.ts';

/** A broker whose second listener takes TLS with client certificates and OAUTHBEARER alone. */
let broker: SecureKafka;
let issuer: HttpServer;
let folder = '';
let settings: Record<string, string> = {};
const requests: { authorization: string | undefined; body: string }[] = [];
/** The lifetime of the next token, and the lifetime that the issuer announces for it. */
let issued = () => ({ lifetimeSeconds: 300, announcedSeconds: 300 });
const file = (name: string) => join(folder, name);

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** An access token without a signature, which Kafka's default validator accepts. */
const token = (lifetimeSeconds: number) => {
  const now = Math.floor(Date.now() / 1_000);
  return `${base64({ alg: 'none' })}.${base64({ sub: 'reader', iat: now, exp: now + lifetimeSeconds })}.`;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kafka-security-'));
  for (const name of ['server', 'client', 'other']) {
    const { cert, key } = await createSelfSigned();
    writeFileSync(file(`${name}.crt`), cert);
    writeFileSync(file(`${name}.key`), key);
    writeFileSync(file(`${name}.pem`), `${key}\n${cert}\n`);
  }
  issuer = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const { authorization } = request.headers;
      requests.push({ authorization, body });
      const isKnown = authorization === `Basic ${Buffer.from('reader:p%40ss').toString('base64')}`;
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      const { lifetimeSeconds, announcedSeconds } = issued();
      const access = {
        access_token: token(lifetimeSeconds),
        expires_in: announcedSeconds,
        token_type: 'Bearer',
      };
      response.end(JSON.stringify(access));
    });
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  broker = await startSecureKafka(folder, file('server.pem'), 'SASL_SSL', {
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': file('client.crt'),
    'ssl.client.auth': 'required',
    'sasl.enabled.mechanisms': 'OAUTHBEARER',
    'oauthbearer.sasl.jaas.config':
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
    // Sessions then end with their tokens.
    'oauthbearer.connections.max.reauth.ms': '3600000',
  });
  writeFileSync(file('secret'), 'p@ss\n');
  settings = {
    MONGODB_URL: 'mongodb://localhost:1',
    KAFKA_BROKERS: broker.secure,
    KAFKA_SSL: 'true',
    KAFKA_TLS_CA_FILE: file('server.crt'),
    KAFKA_TLS_CERT_FILE: file('client.crt'),
    KAFKA_TLS_KEY_FILE: file('client.key'),
    KAFKA_SASL_MECHANISM: 'oauthbearer',
    KAFKA_SASL_USERNAME: 'reader',
    KAFKA_SASL_PASSWORD_FILE: file('secret'),
    KAFKA_SASL_TOKEN_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/token`,
    KAFKA_SASL_TOKEN_SCOPE: 'kafka topics',
  };
});

afterAll(async () => {
  await broker.stop();
  issuer.close();
  rmSync(folder, { recursive: true });
});

const createTopics = async (changes: Record<string, string>) => {
  const environment = { ...settings, LOG_LEVEL: '', ...changes };
  const cli = startService('cli', environment, ['topics', 'create', '--partitions', '1']);
  const code = await cli.exited;
  // A broker that is slow to answer is named.
  return { code, stdout: cli.stdout(), stderr: cli.stderr().replace(/^waiting for Kafka at .*\n/, '') };
};

test('all connections of a client share one token', async () => {
  const { code, stdout, stderr } = await createTopics({});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('support.tickets: created, 1 partition\n');
  expect(requests.map(({ body }) => body)).toEqual(['grant_type=client_credentials&scope=kafka+topics']);
});

test.each([
  ['its certificate', { KAFKA_TLS_CERT_FILE: '', KAFKA_TLS_KEY_FILE: '' }, /certificate|handshake/i],
  [
    'the right secret',
    { KAFKA_SASL_PASSWORD_FILE: '', KAFKA_SASL_PASSWORD: 'wrong' },
    /TOKEN_URL: status 401/,
  ],
  ['an issuer', { KAFKA_SASL_TOKEN_URL: 'http://localhost:1024/' }, /TOKEN_URL: .*ECONNREFUSED/],
])('a client without %s is refused with the reason', async (_, changes, reason) => {
  const { code, stderr } = await createTopics(changes);
  expect(code).toBe(1);
  expect(stderr).toMatch(reason);
});

describe('a projector continues for many times the lifetime of its access tokens', () => {
  const projector = useProjector({
    projectors: 0,
    servers: () => ({ ...process.env, KAFKA_BROKERS: broker.plain }),
  });

  test.each([
    ['of 12 s', { lifetimeSeconds: 12, announcedSeconds: 12 }],
    ['near their end, as a cache hands them out', { lifetimeSeconds: 3, announcedSeconds: 3 }],
    ['that end sooner than their issuer says', { lifetimeSeconds: 5, announcedSeconds: 300 }],
  ])('%s', async (_, lifetime) => {
    issued = () => lifetime;
    const { MONGODB_URL: _unused, ...security } = settings;
    const process = projector.startProcess(security);
    await process.logged('projecting');
    const requested = requests.length;
    for (let second = 0; second < 40; second += 1) {
      await projector.publish(created('tag', `tag_${lifetime.lifetimeSeconds}_${second}`));
      await setTimeout(1_000);
    }
    await projector.applied();
    expect(process.failures()).toEqual([]);
    expect(requests.length - requested).toBeGreaterThan(2);
    await process.stop();
  });
});
