import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { repeat } from '../../shared/runtime/repeat.ts';
import type { Closer } from '../../shared/runtime/lifecycle.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { securityPolicy } from '../../shared/pages/security-policy.ts';
import { refusal } from './access.ts';
import { renderPage, type Page } from './layout.ts';
import { createLive, type Live } from './live.ts';
import { deadLettersPage } from './pages/dead-letters.ts';
import { explainPage } from './pages/explain.ts';
import { generationsPage } from './pages/generations.ts';
import { lagPage } from './pages/lag.ts';
import { wellPage } from './pages/well.ts';
import { createAsk } from './readings.ts';
import { createSamples, sampleEveryMs, type Samples } from './samples.ts';
import { createSources, type SourceDeps, type Sources } from './sources.ts';

const file = (path: string, type: string) => ({ type, body: readFileSync(new URL(path, import.meta.url)) });

const pico = createRequire(import.meta.url).resolve('@picocss/pico/css/pico.conditional.min.css');

/** Every file that pages load. */
const assets = new Map([
  ['/assets/pico.css', { type: 'text/css', body: readFileSync(pico) }],
  ['/assets/site.css', file('../../shared/pages/site.css', 'text/css')],
  ['/assets/icon.svg', file('../../shared/pages/icon.svg', 'image/svg+xml')],
  ['/assets/console.css', file('browser/console.css', 'text/css')],
  ['/assets/console.mjs', file('browser/console.mjs', 'text/javascript')],
]);

const headers = {
  'Content-Security-Policy': securityPolicy({ 'form-action': "'self'" }),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** Open connections; further ones are closed without an answer. */
const connectionsMax = 200;

export type ConsoleDeps = SourceDeps & { logger: Logger };

/** Starts the console. It reads MongoDB and Kafka, and changes nothing. Rejects if it cannot listen. */
export async function startConsole(deps: ConsoleDeps): Promise<{ address: AddressInfo; closers: Closer[] }> {
  const { config, logger } = deps;
  const sources = createSources(deps);
  const samples = createSamples();
  const ask = createAsk();
  const pages: Page[] = [
    wellPage(sources, samples),
    lagPage(sources),
    generationsPage(sources),
    deadLettersPage(sources, ask),
    explainPage({ ...deps, sources, ask }),
  ];
  const onError = (error: unknown) => logger.error({ error }, 'a page could not be rendered');
  const live = createLive(async (path) => (await pageAt(pages, path)?.regions?.()) ?? {}, onError);
  const sampling = repeat(() => sample(sources, samples), { intervalMs: sampleEveryMs, onError });
  const answer = createApp(deps, pages, live).callback();
  const server = createServer((request, response) => void answer(request, response));
  server.maxConnections = connectionsMax;
  const address = await listen(server, config.CONSOLE_HOST, config.CONSOLE_PORT);
  return {
    address,
    closers: [
      { name: 'clients', close: live.close, deadlineMs: 5_000 },
      { name: 'server', close: () => closeServer(server), deadlineMs: 5_000 },
      { name: 'sampling', close: sampling.stop, deadlineMs: 5_000 },
      { name: 'reading', close: sources.close, deadlineMs: 5_000 },
    ],
  };
}

const pageAt = (pages: Page[], path: string): Page | undefined => pages.find((page) => page.path === path);

async function sample({ overview }: Sources, samples: Samples): Promise<void> {
  const { value, problem } = await overview.get();
  const active = problem === null && value?.report.generations.find(({ state }) => state === 'active');
  samples.add({ atMs: Date.now(), lagSeconds: active ? active.lagSeconds : null });
}

function createApp({ config, logger }: ConsoleDeps, pages: Page[], live: Live): Koa {
  const app = new Koa();
  app.on('error', (error: unknown) => logger.error({ error }, 'a request failed'));
  return app.use(async (context) => {
    context.set(headers);
    const refused = refusal(config, context.req);
    if (refused) {
      context.status = refused.status;
      context.set(refused.headers ?? {});
      context.body = refused.text;
      return;
    }
    if (context.method !== 'GET' && context.method !== 'HEAD') {
      context.status = 405;
      context.set('Allow', 'GET, HEAD');
      context.body = 'The console only reads: GET and HEAD are served here.\n';
      return;
    }
    const query = new URLSearchParams(context.querystring);
    const asset = assets.get(context.path);
    const page = pageAt(pages, context.path);
    const watched = context.path === '/events' ? pageAt(pages, query.get('page') ?? '') : undefined;
    if (asset) {
      context.type = asset.type;
      context.body = asset.body;
    } else if (page) {
      context.type = 'text/html';
      context.body = await renderPage(pages, page, query);
    } else if (watched?.regions && context.method === 'GET') {
      context.respond = !live.join(watched.path, context.res);
      if (!context.respond) return;
      context.status = 503;
      context.set('Retry-After', '10');
      context.body = 'Too many clients watch the console.\n';
    }
  });
}

const listen = (server: Server, host: string, port: number): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve(server.address() as AddressInfo));
  });

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
