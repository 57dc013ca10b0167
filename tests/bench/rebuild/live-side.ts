import { generationDatabase } from '../../../shared/store/connection.ts';
import { startService } from '../../../infra/service.ts';
import { apiKeyToken } from '../dataset.ts';
import { withScratch, type BenchEnvironment, type Scratch } from '../environment.ts';
import { atRate, type Target } from '../load.ts';
import { appliedTo, proxied, serviceSettings, startApi, startProjector } from '../processes.ts';
import { createTraffic, type Published } from '../publish.ts';

const liveEventsPerSecond = 100;
const tickMs = 50;

/** Generation 1: its projector follows live changes, and an API replica serves it. */
export type LiveSide = {
  scratch: Scratch;
  published: Published;
  /** The list of tickets of one organization. */
  target: Target;
  /** Runs a verb of the CLI; rejects if it fails. Returns its output. */
  cli: (...words: string[]) => Promise<Record<string, unknown>>;
};

/** Runs `work` beside a generation that is served, with live changes. The topics hold more records afterwards. */
export const withLiveSide = <T>(
  environment: BenchEnvironment,
  published: Published,
  work: (side: LiveSide) => Promise<T>,
): Promise<T> =>
  withScratch(environment, async (scratch) => {
    const { mongodbUrl, mongo, admin, producer } = environment;
    const settings = serviceSettings(environment, scratch.name, published.prefix);
    const cli = async (...words: string[]) => {
      const verb = startService('cli', { ...settings, LOG_LEVEL: undefined }, [...words, '--json']);
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
    const { server, port } = await startApi({ MONGODB_URL: mongodbUrl, DATABASE_NAME: scratch.name });
    cleanUp.defer(async () => void (await server.stop()));
    let isOver = false;
    const traffic = atRate(liveEventsPerSecond, tickMs, () => isOver, createTraffic(producer, published));
    // The clean-up throws the error of a failed request.
    traffic.catch(() => undefined);
    cleanUp.defer(() => {
      isOver = true;
      return traffic;
    });
    const target = { port, paths: ['/v1/tickets'], headers: proxied(apiKeyToken(0)) };
    return await work({ scratch, published, target, cli });
  });
