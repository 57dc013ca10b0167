import { storeTime } from '../../shared/store/clock.ts';
import { RebuildRefused } from '../../shared/control/generations.ts';
import { readFacts, type Facts, type UseKafka } from '../operations/facts.ts';
import type { OperatorDeps } from '../operations/deps.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { configs } from './config.ts';
import {
  connectKafka,
  withKafka,
  withMongo,
  type CommandOutput,
  type Context,
  type Terminal,
} from './context.ts';
import { operatorName } from './operator.ts';
import { output, type Json } from './output.ts';

export type OperatorVerb<O> = (deps: OperatorDeps, options: O, terminal: Terminal) => Promise<CommandOutput>;

type MongoDeps = Omit<OperatorDeps, 'admin' | 'log'>;

const withOperator = <T>(
  { terminal }: Context,
  config: ReturnType<typeof configs.everything>,
  use: (deps: MongoDeps) => Promise<T>,
): Promise<T> =>
  withMongo(config, (clients) =>
    use({
      ...clients,
      config,
      topics: topicsOf(config.TOPIC_PREFIX),
      now: () => storeTime(clients.control),
      by: operatorName(config.OPERATOR),
      report: terminal.report,
    }),
  );

/** Connects a verb to Kafka and MongoDB. A refusal is one message, and exit code 1. */
export const withServers =
  <O extends Json>(run: OperatorVerb<O>) =>
  (context: Context, options: O): Promise<CommandOutput> => {
    const config = configs.everything(context.environment);
    return withKafka(context, config, (kafka) =>
      withOperator(context, config, (deps) =>
        run({ ...deps, ...kafka }, options, context.terminal).catch((error: unknown) => {
          if (!(error instanceof RebuildRefused)) throw error;
          const { message, verb } = error;
          const refused = verb === null ? message : `${message}: ${context.cli} ${verb}`;
          return output(options, { refused }, `${context.verb} refused: ${refused}\n`, 1);
        }),
      ),
    );
  };

/** Connects a verb that reads the facts to MongoDB, and to Kafka if it answers. */
export function withFacts<T>(
  context: Context,
  use: (deps: MongoDeps & { read: (before: Facts | null) => Promise<Facts> }) => Promise<T>,
): Promise<T> {
  const config = configs.everything(context.environment);
  return withOperator(context, config, async (deps) => {
    const { clients, close } = connectKafka(context, config, {
      // Each broker once: without Kafka the rest is shown.
      retries: config.KAFKA_BROKERS.length,
    });
    const useKafka: UseKafka = async (work) => work(await clients);
    try {
      return await use({ ...deps, read: (before) => readFacts(deps, useKafka, before) });
    } finally {
      await close();
    }
  });
}
