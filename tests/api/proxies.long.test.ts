import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Koa from 'koa';
import { createSelfSigned } from '../../infra/certificate.ts';
import { acceptsConnections, freePort } from '../../infra/dev-servers/native/ports.ts';
import { type Service, startCommand } from '../../infra/service.ts';
import type { RequestState } from '../../services/api/http/context.ts';
import { streamBody } from '../../services/api/http/send-answer.ts';
import { createMetrics } from '../../services/api/metrics.ts';
import { startServer } from '../../services/api/server/server.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { eventually } from '../support/eventually.ts';
import { testUnless } from '../support/unless-missing.ts';

type Program = 'nginx' | 'haproxy';

/** Debian installs both in a folder that only root's PATH has. */
const searched = `${process.env.PATH}:/usr/sbin`;
const isMissing = (program: Program) =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { env: { PATH: searched } }).status !== 0;

const host = '127.0.0.1';
const running: Service[] = [];
let folder: string;
let api: Awaited<ReturnType<typeof startStreaming>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'proxies-'));
  const { cert, key } = await createSelfSigned();
  for (const [name, text] of Object.entries({ 'api.pem': cert, 'api.pem.key': key, 'api.key': key }))
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  api = await startStreaming();
});
afterAll(async () => {
  for (const proxy of running) await proxy.stop();
  await api.stop();
  rmSync(folder, { recursive: true });
});

/**
 * The API's server, whose responses have begun, and end only if their stream does; the latest is the last of `bodies`.
 */
async function startStreaming() {
  const bodies: Readable[] = [];
  const app = new Koa<RequestState>();
  app.on('error', () => undefined);
  app.use((context) => {
    const body = new Readable({ read: () => undefined });
    context.type = 'application/json';
    streamBody(context, body);
    body.push(`{"data":"${'x'.repeat(100_000)}`);
    bodies.push(body);
  });
  const { connectionsRefused } = createMetrics();
  const { address, stop } = await startServer(
    {
      listener: app.callback(),
      logger: createLogger('test', 'silent'),
      baseUrl: undefined,
      trace: null,
      admitUnauthenticated: () => true,
      nowMs: () => performance.now(),
      connectionsRefused,
    },
    {
      host,
      port: 0,
      credentials: null,
      trustedProxies: [],
      keepAliveMs: 65_000,
      connectionsMax: 100,
      addressConnectionsMax: 100,
    },
  );
  return { port: address.port, stop, bodies };
}

/** The configuration of a program in docs/proxies.md, for this API and a port of this host. */
function documentedConfig(program: Program, port: number): string {
  const page = readFileSync('docs/proxies.md', 'utf8');
  const [, block = ''] = new RegExp(`^\`\`\`${program}\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  const local = block
    .replace(/^.*10\.0\.0\.12.*\n/m, '')
    .replace(/10\.0\.0\.11:8080( check port.*)?/, `${host}:${api.port}`)
    .replace(/^ *option httpchk.*\n/m, '')
    .replaceAll('/etc/ssl', folder)
    .replace('listen 443', `listen ${host}:${port}`)
    .replace('bind :443', `bind ${host}:${port}`);
  const main = `master_process off; pid ${folder}/nginx.pid; error_log stderr; events {}`;
  return program === 'nginx' ? `${main} http { access_log off; ${local} }` : local;
}

/** The configuration without the HTTP version: nginx then speaks HTTP/1.0 to the API. */
const withoutVersion = (config: string) =>
  config.replace(/^.*proxy_http_version.*\n/m, '').replace(/^.*Connection "";\n/m, '');

const asDocumented = (config: string) => config;

describe.each([
  ['nginx as documented', 'nginx', asDocumented],
  ['nginx with its default of HTTP/1.0', 'nginx', withoutVersion],
  ['HAProxy as documented', 'haproxy', asDocumented],
] as const)('behind %s', (_, program, change) => {
  const lacks = isMissing(program) ? `this machine lacks ${program}` : null;
  let port: number;

  const start = async () => {
    port = await freePort();
    const file = join(folder, `${port}.conf`);
    writeFileSync(file, change(documentedConfig(program, port)));
    const args = program === 'nginx' ? ['-c', file, '-p', folder, '-g', 'daemon off;'] : ['-f', file];
    const proxy = startCommand([program, ...args], { PATH: searched }, program);
    running.push(proxy);
    await eventually(() => acceptsConnections(port), proxy.failures);
  };

  /**
   * Resolves when the proxy has passed on the beginning of the response; then the client learns whether it is complete.
   */
  const begin = async () => {
    const request = get({ host, port, agent: false, rejectUnauthorized: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    const isComplete = new Promise<boolean>((resolve) => {
      response.once('error', () => resolve(false)).once('end', () => resolve(true));
    });
    await once(response, 'data');
    return { isComplete };
  };

  testUnless(lacks, 'a client can distinguish a broken response from a complete response', async () => {
    await start();
    const complete = await begin();
    api.bodies.at(-1)?.push('"}');
    api.bodies.at(-1)?.push(null);
    expect(await complete.isComplete).toBe(true);
    const broken = await begin();
    api.bodies.at(-1)?.destroy(new Error('MongoDB is away'));
    expect(await broken.isComplete).toBe(false);
  });
});
