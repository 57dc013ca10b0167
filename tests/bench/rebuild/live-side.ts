import { generationDatabase } from '../../../shared/store/connection.ts';
import { startService, type Service } from '../../../infra/service.ts';
import { apiKeyToken } from '../dataset.ts';
import { withScratch, type BenchEnvironment, type Scratch } from '../environment.ts';
import { atRate, type Target } from '../load.ts';
import { appliedTo, proxied, startApi, startProjector } from '../processes.ts';
import { createTraffic, type Published, type PublishLive } from '../publish.ts';

const liveEventsPerSecond = 100;
const tickMs = 50;

/** Generation 1: its projector follows live changes, and an API replica serves it. */
export type LiveSide = {
  scratch: Scratch;
  published: Published;
  projector: Service;
  /** The list of tickets of one organization. */
  target: Target;
  publishLive: PublishLive;
  /** Runs a verb of the CLI; rejects if it fails. Returns its output. */
  cli: (...words: string[]) => Promise<Record<string, unknown>>;
  /** Ends the live changes; rejects if one could not be published. */
  stopTraffic: () => Promise<void>;
};

/** Runs `work` beside a generation that is served, with live changes. The topics hold more records afterwards. */
export const withLiveSide = <T>(
  environment: BenchEnvironment,
  published: Published,
  work: (side: LiveSide) => Promise<T>,
): Promise<T> =>
  withScratch(environment, async (scratch) => {
    const { kafkaBrokers, mongodbUrl, mongo, admin, producer } = environment;
    const settings = { MONGODB_URL: mongodbUrl, DATABASE_NAME: scratch.name };
    const kafka = {
      KAFKA_BROKERS: kafkaBrokers,
      TOPIC_PREFIX: published.prefix,
      CONSUMER_GROUP: scratch.name,
    };
    const cli = async (...words: string[]) => {
      const verb = startService('cli', { ...settings, ...kafka, LOG_LEVEL: undefined }, [...words, '--json']);
      const code = await verb.exited;
      if (code !== 0)
        throw new Error(`${words.join(' ')} failed (${code}): ${verb.stdout()}${verb.stderr()}`);
      return JSON.parse(verb.stdout()) as Record<string, unknown>;
    };
    await using cleanUp = new AsyncDisposableStack();
    cleanUp.defer(async () => {
      await generationDatabase(mongo, scratch.name, 2).dropDatabase();
      await admin.deleteGroups([`${scratch.name}_g2`]).catch(() => undefined);
    });
    const projector = startProjector(environment, scratch.name, published.prefix);
    cleanUp.defer(async () => void (await projector.stop()));
    await appliedTo(scratch.control, published.ends, projector);
    const { server, port } = await startApi(settings);
    cleanUp.defer(async () => void (await server.stop()));
    const publishLive = createTraffic(producer, published);
    let isOver = false;
    const traffic = atRate(liveEventsPerSecond, tickMs, () => isOver, publishLive);
    // `stopTraffic` throws the error of a failed request.
    traffic.catch(() => undefined);
    const stopTraffic = () => {
      isOver = true;
      return traffic;
    };
    cleanUp.defer(stopTraffic);
    const target = { port, paths: ['/v1/tickets'], headers: proxied(apiKeyToken(0)) };
    return await work({ scratch, published, projector, target, publishLive, cli, stopTraffic });
  });
