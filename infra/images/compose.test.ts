import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { storeUser, withKeyFile } from '../dev-servers/docker/containers.ts';
import { images } from '../dev-servers/docker/engine.ts';

type Service = {
  image: string;
  ports?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  mem_limit?: string;
  pids_limit?: number;
  restart?: string;
  profiles?: string[];
  volumes?: string[];
  healthcheck?: { test: string | string[] };
};
type Compose = {
  services: Record<string, Service>;
  networks: { default: { ipam: { config: { subnet: string }[] } } };
};
const text = readFileSync('docker-compose.yml', 'utf8');
const { services, networks } = parse(text, { merge: true }) as Compose;

/** A complete version: such a tag is not moved to another image. */
const exact = /:v?\d+\.\d+\.\d+(-[a-z-]+)?$/;

test('every published port is on loopback only', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports).toHaveLength(6);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});

test('every service has a limit on its memory and its processes', () => {
  for (const [name, { mem_limit, pids_limit }] of Object.entries(services)) {
    expect([name, mem_limit, pids_limit]).toEqual([
      name,
      expect.stringMatching(/^\d+[mg]$/),
      expect.any(Number),
    ]);
  }
});

test('every service starts again after a reboot; the command that creates topics ends', () => {
  for (const [name, { restart }] of Object.entries(services))
    expect([name, restart]).toEqual([name, name === 'topics' ? 'on-failure' : 'unless-stopped']);
});

test('`up --wait` waits until the services are ready', () => {
  for (const name of ['projector', 'api', 'replica'])
    expect(String(services[name]?.healthcheck?.test)).toContain(':9090/readyz');
  for (const [name, { healthcheck }] of Object.entries(services))
    expect([name, healthcheck !== undefined]).toEqual([name, name !== 'topics']);
});

test('the API trusts its own network alone, and links to a port that is published', () => {
  const addresses = { api: '${API_BASE_URL:-http://localhost:8080}', replica: 'https://localhost:8443' };
  for (const [name, address] of Object.entries(addresses)) {
    const { API_TRUSTED_PROXIES, API_BASE_URL } = services[name]?.environment ?? {};
    expect([API_TRUSTED_PROXIES]).toEqual(networks.default.ipam.config.map(({ subnet }) => subnet));
    expect(API_BASE_URL).toBe(address);
  }
});

test('without a profile only Kafka, MongoDB and one of each service start', () => {
  const profiles = Map.groupBy(Object.entries(services), ([, { profiles = [] }]) => profiles.join());
  const names = Object.fromEntries(
    [...profiles].map(([profile, some]) => [profile, some.map(([name]) => name)]),
  );
  expect(names).toEqual({
    '': ['kafka', 'mongo', 'topics', 'projector', 'api'],
    replicas: ['replica', 'valkey', 'proxy'],
    monitoring: ['prometheus', 'grafana'],
  });
});

test('only the replicas behind the proxy share their rate limits: nothing else starts Valkey', () => {
  expect(services.replica?.environment?.RATE_LIMIT_STORE_URL).toContain('@valkey:6379');
  expect(services.api?.environment).not.toHaveProperty('RATE_LIMIT_STORE_URL');
});

test('the CLI in the container prints the commands of Compose', () => {
  for (const name of ['projector', 'topics'])
    expect([name, services[name]?.environment?.DEPLOYMENT]).toEqual([name, 'compose']);
});

test('the configuration files exist', () => {
  const files = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(':')[0] ?? ''),
  );
  const own = files.filter((file) => file.startsWith('./infra/'));
  expect(own.filter((file) => !existsSync(file))).toEqual([]);
  expect(own).toHaveLength(6);
});

describe('create-env.sh', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compose-env-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const script = join(folder, 'infra/compose/create-env.sh');
  const createEnv = () => spawnSync('sh', [script], { encoding: 'utf8' });
  const env = () => readFileSync(join(folder, '.env'), 'utf8');

  test('sets every variable that docker-compose.yml requires, for this user alone', () => {
    cpSync('infra/compose', join(folder, 'infra/compose'), { recursive: true });
    expect(createEnv()).toMatchObject({ status: 0, stderr: '' });
    const variables = Object.fromEntries(
      env()
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );
    const required = [...text.matchAll(/\$\{(\w+):\?run infra\/compose\/create-env\.sh\}/g)].map(
      ([, name]) => name,
    );
    expect(Object.keys(variables).sort()).toEqual([...new Set(required)].sort());
    const passwords = Object.entries(variables).filter(([name]) => name.endsWith('_PASSWORD'));
    for (const [, password] of passwords) expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(new Set(passwords.map(([, password]) => password)).size).toBe(4);
    for (const file of ['.env', '.certificate/proxy.pem.key'])
      expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
  });

  test('refuses to replace them', () => {
    const before = env();
    expect(createEnv()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('.env exists already') as string,
    });
    expect(env()).toBe(before);
  });
});

test('no password has a default', () => {
  expect(text).not.toMatch(/PASSWORD:-/);
  expect(services.valkey?.environment?.REDISCLI_AUTH).toMatch(/^\$\{RATE_LIMIT_PASSWORD:\?/);
  expect(services.grafana?.environment?.GF_SECURITY_ADMIN_PASSWORD).toMatch(/^\$\{GRAFANA_PASSWORD:\?/);
});

test('third-party images have exact versions, the same as the Docker dev servers', () => {
  for (const name of ['kafka', 'mongo', 'valkey', 'proxy'] as const)
    expect(services[name]?.image).toBe(images[name]);
  for (const { image } of Object.values(services))
    if (image !== 'support-read-models') expect(image).toMatch(exact);
  const [, node = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync('infra/images/Dockerfile', 'utf8')) ?? [];
  expect(node).toMatch(exact);
  expect(node).toBe(images.node);
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  expect(node).toContain(`:${lock.packages['node_modules/node']?.version}-`);
});

test('Kafka and MongoDB require a password, and the services have it', () => {
  const { kafka, mongo } = services;
  const protocols = kafka?.environment?.KAFKA_LISTENER_SECURITY_PROTOCOL_MAP;
  expect(protocols).toContain('HOST:SASL_PLAINTEXT,SERVICES:SASL_PLAINTEXT');
  // Only programs inside the container can reach the listeners without a password.
  expect(kafka?.environment?.KAFKA_LISTENERS).toMatch(/INTERNAL:\/\/localhost:.*CONTROLLER:\/\/localhost:/);
  expect(mongo?.environment).toMatchObject({
    MONGO_INITDB_ROOT_USERNAME: storeUser,
    MONGO_INITDB_ROOT_PASSWORD: expect.stringContaining('${STORE_PASSWORD:?') as string,
  });
  // Compose treats $ as a variable unless it is doubled.
  const [shell, options, script, name] = mongo?.entrypoint ?? [];
  expect([shell, options, script?.replaceAll('$$', '$'), name]).toEqual([
    'bash',
    '-euc',
    withKeyFile,
    'docker-entrypoint.sh',
  ]);
  for (const [name, { environment }] of Object.entries(services)) {
    const { MONGODB_URL, KAFKA_BROKERS } = environment ?? {};
    if (MONGODB_URL)
      expect([name, MONGODB_URL]).toEqual([name, expect.stringContaining('//support:${STORE_')]);
    if (KAFKA_BROKERS) {
      expect(environment).toMatchObject({
        KAFKA_SASL_MECHANISM: 'plain',
        KAFKA_SASL_USERNAME: 'support',
        KAFKA_SASL_PASSWORD: expect.stringContaining('${KAFKA_PASSWORD:?') as string,
      });
    }
  }
});
