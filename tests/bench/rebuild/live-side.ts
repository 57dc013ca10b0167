import { setTimeout as sleep } from 'node:timers/promises';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { startService, type Service } from '../../support/service.ts';
import type { Target } from '../load.ts';
import { tokenOf } from '../dataset.ts';
import { withScratch, type BenchEnvironment, type Scratch } from '../environment.ts';
import { createTraffic, publishLive, type LiveEvent } from '../projecting/live.ts';
import { appliedTo, startProjectorProcess } from '../projecting/projector.ts';
import type { Published } from '../publish.ts';

export const liveEventsPerSecond = 100;
const tickMs = 50;

/** Generation 1: its projector follows live changes, and an API replica serves it. */
export type LiveSide = {
  scratch: Scratch;
  published: Published;
  projector: Service;
  /** The list of tickets of one organization. */
  target: Target;
  nextEvent: () => LiveEvent;
  /** Runs a verb of the CLI; rejects if it fails. Returns its output. */
  cli: (...words: string[]) => Promise<Record<string, unknown>>;
  stopTraffic: () => Promise<void>;
};

/** Runs `work` beside a generation that is served, with live changes. The topics hold more records afterwards. */
export const withLiveSide = <T>(
  environment: BenchEnvironment,
  published: Published,
  work: (side: LiveSide) => Promise<T>,
): Promise<T> =>
  withScratch(environment, async (scratch) => {
    const { kafkaBrokers, mongodbUrl, mongo, admin } = environment;
    const projector = startProjectorProcess(environment, scratch.name, published.prefix);
    const settings = { MONGODB_URL: mongodbUrl, DATABASE_NAME: scratch.name };
    const cli = async (...words: string[]) => {
      const kafka = { KAFKA_BROKERS: kafkaBrokers, TOPIC_PREFIX: published.prefix };
      const all = { ...settings, ...kafka, CONSUMER_GROUP: scratch.name, LOG_LEVEL: undefined };
      const verb = startService('cli', all, [...words, '--json']);
      const code = await verb.exited;
      if (code !== 0)
        throw new Error(`${words.join(' ')} failed (${code}): ${verb.stdout()}${verb.stderr()}`);
      return JSON.parse(verb.stdout()) as Record<string, unknown>;
    };
    let api: Service | undefined;
    let traffic: ReturnType<typeof startTraffic> | undefined;
    try {
      await appliedTo(scratch.control, published.ends, projector);
      api = startApi(settings);
      const { port } = await api.logged('listening');
      await api.logged('ready');
      api.dropOutput();
      const headers = { Authorization: `Bearer ${tokenOf(0)}`, 'X-Forwarded-Proto': 'https' };
      const target = { port: Number(port), paths: ['/v1/tickets'], headers };
      const nextEvent = createTraffic(published.dataset);
      traffic = startTraffic({ ...environment, published, nextEvent });
      const side = { scratch, published, projector, target, nextEvent, cli, stopTraffic: traffic.stop };
      return await work(side);
    } finally {
      await traffic?.stop();
      await Promise.all([api?.stop(), projector.stop()]);
      await generationDatabase(mongo, scratch.name, 2).dropDatabase();
      await admin.deleteGroups([`${scratch.name}_g2`]).catch(() => undefined);
    }
  });

const startApi = (settings: Record<string, string>): Service =>
  startService('api', {
    ...settings,
    NODE_ENV: 'production',
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    API_TRUSTED_PROXIES: '127.0.0.0/8',
    RATE_LIMIT_REQUESTS: '0',
  });

/** Publishes live changes at a fixed rate. `stop` may be called again. */
function startTraffic(deps: Parameters<typeof publishLive>[0]) {
  let isOver = false;
  const publishing = (async () => {
    const startMs = performance.now();
    let events = 0;
    while (!isOver) {
      const due = Math.floor(((performance.now() - startMs) / 1_000) * liveEventsPerSecond) - events;
      if (due > 0) await publishLive(deps, due);
      events += due;
      await sleep(tickMs);
    }
  })();
  // `stop` throws the error of a failed request.
  publishing.catch(() => undefined);
  return {
    stop: async () => {
      isOver = true;
      await publishing;
    },
  };
}
