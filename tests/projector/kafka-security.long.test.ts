import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installKafka, kafkaPart } from '../../infra/dev-servers/native/kafka.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer, type Server } from '../../infra/dev-servers/native/server.ts';
import { selfSigned } from '../../infra/certificate.ts';
import { startService } from '../../infra/service.ts';

/** A broker whose second listener takes TLS with client certificates and OAUTHBEARER alone. */
let broker: Server;
let issuer: HttpServer;
let folder = '';
let settings: Record<string, string> = {};
const requests: { authorization: string | undefined; body: string }[] = [];
const file = (name: string) => join(folder, name);

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** An access token without a signature, which Kafka's default validator accepts. */
const token = (lifetimeSeconds: number) => {
  const now = Math.floor(Date.now() / 1_000);
  return `${base64({ alg: 'none' })}.${base64({ sub: 'reader', iat: now, exp: now + lifetimeSeconds })}.`;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kafka-security-'));
  await installKafka(() => undefined);
  for (const name of ['server', 'client', 'other']) {
    const { cert, key } = await selfSigned();
    writeFileSync(file(`${name}.crt`), cert);
    writeFileSync(file(`${name}.key`), key);
    writeFileSync(file(`${name}.pem`), `${key}\n${cert}\n`);
  }
  issuer = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { authorization } = request.headers;
      requests.push({ authorization, body });
      const isKnown = authorization === `Basic ${Buffer.from('reader:p%40ss').toString('base64')}`;
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: token(300), expires_in: 300, token_type: 'Bearer' }));
    });
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  const [plain = 0, controller = 0, secure = 0] = await freePorts(3);
  const part = kafkaPart(join(folder, 'kafka'), { id: 1, broker: plain, controller });
  // Of a property that is set twice, the later value holds.
  appendFileSync(
    join(folder, 'kafka', 'server.properties'),
    [
      `listeners=PLAINTEXT://127.0.0.1:${plain},CONTROLLER://127.0.0.1:${controller},SECURE://127.0.0.1:${secure}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SECURE://localhost:${secure}`,
      'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL',
      'listener.name.secure.ssl.keystore.type=PEM',
      `listener.name.secure.ssl.keystore.location=${file('server.pem')}`,
      'listener.name.secure.ssl.truststore.type=PEM',
      `listener.name.secure.ssl.truststore.location=${file('client.crt')}`,
      'listener.name.secure.ssl.client.auth=required',
      'listener.name.secure.sasl.enabled.mechanisms=OAUTHBEARER',
      'listener.name.secure.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
      '',
    ].join('\n'),
  );
  broker = await startServer([part]);
  writeFileSync(file('secret'), 'p@ss\n');
  settings = {
    MONGODB_URL: 'mongodb://localhost:1',
    KAFKA_BROKERS: `localhost:${secure}`,
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
  const cli = startService('cli', { ...settings, ...changes }, ['topics', 'create', '--partitions', '1']);
  const code = await cli.exited;
  // A broker that is slow to answer is named.
  return { code, stdout: cli.stdout(), stderr: cli.stderr().replace(/^waiting for Kafka at .*\n/, '') };
};

it('a client with its certificate and a token is admitted; all its connections share the token', async () => {
  const { code, stdout, stderr } = await createTopics({});
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('support.tickets: created, 1 partition\n');
  expect(requests.map(({ body }) => body)).toEqual(['grant_type=client_credentials&scope=kafka+topics']);
});

it.each([
  ['its certificate', { KAFKA_TLS_CERT_FILE: '', KAFKA_TLS_KEY_FILE: '' }, /certificate|handshake/i],
  [
    'the right secret',
    { KAFKA_SASL_PASSWORD_FILE: '', KAFKA_SASL_PASSWORD: 'wrong' },
    /TOKEN_URL: status 401/,
  ],
  ['an issuer', { KAFKA_SASL_TOKEN_URL: 'http://localhost:1024/' }, /TOKEN_URL: .*ECONNREFUSED/],
])('a client without %s is refused, and the message says why', async (_, changes, reason) => {
  const { code, stderr } = await createTopics(changes);
  expect(code).toBe(1);
  expect(stderr).toMatch(reason);
});
