import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import Koa from 'koa';
import { securityPolicy } from '../../shared/pages/security-policy.ts';
import { listen } from '../../shared/runtime/listen.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { findRefusal } from './access.ts';
import { type Page, renderPage } from './layout.ts';
import { deadLettersPage } from './pages/dead-letters.ts';
import { explainPage } from './pages/explain.ts';
import { generationsPage } from './pages/generations.ts';
import { overviewPage } from './pages/overview.ts';
import { topicsPage } from './pages/topics.ts';
import { createSources, type SourceDeps } from './sources.ts';

const { resolve } = createRequire(import.meta.url);

const readAsset = (path: string, type: string) => ({ type, body: readFileSync(resolve(path)) });

/** The style sheet without its pictures, which the content security policy does not allow. */
const pico = readFileSync(resolve('@picocss/pico/css/pico.conditional.min.css'), 'utf8').replaceAll(
  /url\("data:[^"]*"\)/g,
  'none',
);

/** Every file that pages load. */
const assets = new Map<string, { type: string; body: string | Buffer }>([
  ['/assets/pico.css', { type: 'text/css', body: pico }],
  ['/assets/uplot.css', readAsset('uplot/dist/uPlot.min.css', 'text/css')],
  ['/assets/uplot.mjs', readAsset('uplot/dist/uPlot.esm.js', 'text/javascript')],
  ['/assets/site.css', readAsset('../../shared/pages/site.css', 'text/css')],
  ['/assets/icon.svg', readAsset('../../shared/pages/icon.svg', 'image/svg+xml')],
  ['/assets/console.css', readAsset('./browser/console.css', 'text/css')],
  ['/assets/console.mjs', readAsset('./browser/console.mjs', 'text/javascript')],
]);

const headers = {
  'Content-Security-Policy': securityPolicy({ 'form-action': "'self'" }),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** At most this many connections are open. The server closes further ones without an answer. */
const connectionsMax = 200;

type ConsoleDeps = SourceDeps & {
  logger: Logger;
  /** The reason for a restart, in one line; null while this process works. */
  livenessFailure: () => string | null;
};

/** Starts the console. It reads MongoDB and Kafka, and changes nothing. Rejects if it cannot listen. */
export async function startConsole(deps: ConsoleDeps) {
  const { config } = deps;
  const sources = createSources(deps);
  const createPages = [overviewPage, topicsPage, generationsPage, deadLettersPage, explainPage];
  const pages = createPages.map((createPage) => createPage(sources));
  const answer = createApp(deps, pages).callback();
  // Koa answers every failure itself, so its promise never rejects.
  const server = createServer((request, response) => void answer(request, response));
  server.maxConnections = connectionsMax;
  const address = await listen(server, config.CONSOLE_HOST, config.CONSOLE_PORT);
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { address, close };
}

function createApp({ config, logger, livenessFailure }: ConsoleDeps, pages: Page[]): Koa {
  const app = new Koa();
  app.on('error', (error: unknown) => logger.error({ error }, 'a request failed'));
  return app.use(async (context) => {
    context.set(headers);
    if (context.path === '/livez') {
      // A supervisor has no token, so the answer only says whether to restart this process.
      const isLive = livenessFailure() === null;
      context.status = isLive ? 200 : 503;
      context.body = isLive ? 'ok\n' : 'its connections to MongoDB fail, although a new one works\n';
      return;
    }
    const refused = findRefusal(config, context.req);
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
    const asset = assets.get(context.path);
    const page = pages.find(({ path }) => path === context.path);
    if (asset) {
      context.type = asset.type;
      context.body = asset.body;
    } else if (page) {
      context.type = 'text/html';
      context.body = await renderPage(pages, page, new URLSearchParams(context.querystring));
    }
  });
}
