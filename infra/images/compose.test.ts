import { readFileSync } from 'node:fs';
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
  healthcheck?: { test: string | string[] };
};
type Compose = {
  services: Record<string, Service>;
  networks: { default: { ipam: { config: { subnet: string }[] } } };
};
const { services, networks } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;

/** A complete version: such a tag is not moved to another image. */
const exact = /:\d+\.\d+\.\d+(-[a-z-]+)?$/;

test('every published port is on loopback only', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports).toHaveLength(3);
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
  for (const name of ['projector', 'api'])
    expect(String(services[name]?.healthcheck?.test)).toContain(':9090/readyz');
});

test('the API trusts its own network alone, and links to the port that is published', () => {
  const { API_TRUSTED_PROXIES, API_BASE_URL } = services.api?.environment ?? {};
  expect([API_TRUSTED_PROXIES]).toEqual(networks.default.ipam.config.map(({ subnet }) => subnet));
  expect(API_BASE_URL).toBe('${API_BASE_URL:-http://localhost:8080}');
});

test('third-party images have exact versions, the same as the Docker dev servers', () => {
  expect([services.kafka?.image, services.mongo?.image]).toEqual([images.kafka, images.mongo]);
  for (const image of Object.values(images)) expect(image).toMatch(exact);
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
    MONGO_INITDB_ROOT_PASSWORD: '${STORE_PASSWORD:-support}',
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
        KAFKA_SASL_PASSWORD: '${KAFKA_PASSWORD:-support}',
      });
    }
  }
});
