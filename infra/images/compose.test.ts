import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { commandsIn } from '../../services/operations/deployment.ts';
import { containing } from '../../tests/support/matchers.ts';
import { useFolder } from '../../tests/support/use-opened.ts';
import { withKeyFile } from '../dev-servers/docker/containers.ts';
import { images } from '../dev-servers/docker/engine.ts';

type Service = {
  image: string;
  stop_grace_period?: string;
  ports?: string[];
  entrypoint?: string[];
  volumes?: string[];
  environment?: Record<string, string>;
};
const text = readFileSync('docker-compose.yml', 'utf8');
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };

test('every published port is on loopback only, and no password has a default', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports).toHaveLength(6);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  expect(text).not.toMatch(/PASSWORD:-/);
});

test('each printed command runs in a new container, which a drop of a generation does not end', () => {
  const [, service = ''] = / (\w+)$/.exec(commandsIn.compose.cli) ?? [];
  expect(services[service]).toMatchObject({ entrypoint: ['support-cli'], profiles: ['cli'], restart: 'no' });
  expect(text).not.toContain('exec projector');
});

test('the images have the exact versions that the Docker dev servers run', () => {
  for (const name of ['kafka', 'mongo', 'valkey', 'proxy'] as const)
    expect(services[name]?.image).toBe(images[name]);
  const dockerfile = readFileSync('infra/images/Dockerfile', 'utf8');
  const [, nodeImage = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? [];
  expect(nodeImage).toBe(images.node);
  const used = [nodeImage, ...Object.values(services).map((service) => service.image)];
  for (const image of used.filter((name) => name !== 'support-read-models'))
    expect(image).toMatch(/:v?\d+\.\d+\.\d+(-[a-z-]+)?$/);
  // Compose treats $ as a variable unless it is doubled.
  expect(services.mongo?.entrypoint?.[2]?.replaceAll('$$', '$')).toBe(withKeyFile);
});

test('Compose waits for longer than a service needs to stop', () => {
  for (const name of ['api', 'replica', 'projector'])
    expect({ name, grace: services[name]?.stop_grace_period }).toEqual({ name, grace: '35s' });
});

test('a restart after a promotion moves the projector to no other generation', () => {
  expect(services.projector?.environment?.GENERATION).toBe('${GENERATION:-1}');
});

test('the mounted configuration files exist', () => {
  const volumes = Object.values(services).flatMap((service) => service.volumes ?? []);
  const sources = volumes.map((volume) => volume.split(':')[0] ?? '');
  const configuration = sources.filter((source) => source.startsWith('./infra/'));
  expect(configuration.filter((file) => !existsSync(file))).toEqual([]);
});

const folder = useFolder();

test('create-env.sh sets every variable that docker-compose.yml requires, once, for this user alone', () => {
  cpSync('infra/compose', join(folder.path, 'infra/compose'), { recursive: true });
  const createEnv = (PATH = process.env.PATH) =>
    spawnSync('sh', [join(folder.path, 'infra/compose/create-env.sh')], {
      encoding: 'utf8',
      env: { ...process.env, PATH },
    });
  // The script prints a failure of openssl, and leaves no file that its next run would refuse.
  writeFileSync(join(folder.path, 'openssl'), '#!/bin/sh\necho unknown option >&2\nexit 2\n', {
    mode: 0o700,
  });
  expect(createEnv(`${folder.path}:${process.env.PATH}`)).toMatchObject({
    status: 1,
    stderr: 'unknown option\n',
  });
  const readEnv = () => readFileSync(join(folder.path, '.env'), 'utf8');
  expect(createEnv()).toMatchObject({ status: 0, stderr: '' });
  const envText = readEnv();
  const required = text.matchAll(/\$\{(\w+):\?run infra\/compose\/create-env\.sh\}/g);
  const names = [...new Set([...required].map(([, name]) => name))].sort();
  expect([...envText.matchAll(/^(\w+)=/gm)].map(([, name]) => name).sort()).toEqual(names);
  const passwords = [...envText.matchAll(/_PASSWORD=([0-9a-f]{48})$/gm)].map(([, password]) => password);
  expect(new Set(passwords).size).toBe(4);
  for (const file of ['.env', '.certificate/proxy.pem.key'])
    expect({ file, mode: statSync(join(folder.path, file)).mode & 0o777 }).toEqual({ file, mode: 0o600 });
  expect(createEnv()).toMatchObject({ status: 1, stderr: containing('.env exists already') });
  expect(readEnv()).toBe(envText);
});
