import type { Db } from 'mongodb';
import { RebuildRefused } from '../../shared/control/generations.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import type { OperatorDeps } from '../operations/deps.ts';
import { type ReadFacts, readFacts } from '../operations/facts.ts';
import type { UseKafka } from '../operations/kafka-facts.ts';
import { configs, type ControlConfig } from './config.ts';
import { connectKafka, type Context, type MongoDeps, type Output, withKafka, withMongo } from './context.ts';
import { type Json, lines, output } from './output.ts';

/** `config` contains the settings of a verb that uses only MongoDB. */
type ControlDeps = MongoDeps<ControlConfig>;

/** Connects to MongoDB, for a verb that needs no Kafka and no read model. */
export function withControlDatabase<T>(context: Context, use: (deps: ControlDeps) => Promise<T>): Promise<T> {
  return withMongo(context, configs.mongo(context.environment), use);
}

/** `database` contains the documents of the served generation. */
export type ServedDeps = ControlDeps & { database: Db };

/** Connects to MongoDB. Throws if the database has no read model, because its name may be wrong. */
export function withReadModel<T>(context: Context, use: (deps: ServedDeps) => Promise<T>): Promise<T> {
  return withControlDatabase(context, async (deps) => {
    const { generation } = await requireRegistry(deps.control);
    const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, generation);
    return use({ ...deps, database });
  });
}

/** Connects to Kafka and MongoDB. If the verb is refused, returns the refusal as its output. */
export function withKafkaAndMongo(
  context: Context,
  options: Json,
  use: (deps: OperatorDeps) => Promise<Output>,
): Promise<Output> {
  const config = configs.everything(context.environment);
  const topics = topicsOf(config.TOPIC_PREFIX);
  return withKafka(context, config, (kafka, logger) =>
    withMongo(context, config, (deps) => {
      const onStep = (step: string) => logger.debug({ verb: context.verb, step }, 'step');
      return outputRefusal(context, options, () => use({ ...deps, ...kafka, topics, onStep }));
    }),
  );
}

/** Runs a verb. If it is refused, returns the refusal as its output, with exit code 1. */
export async function outputRefusal(
  context: Context,
  options: Json,
  run: () => Promise<Output>,
): Promise<Output> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof RebuildRefused) return renderRefusal(context, options, error);
    throw error;
  }
}

function renderRefusal(context: Context, options: Json, { summary, verb, details }: RebuildRefused): Output {
  const refused = verb === null ? summary : `${summary}: ${context.cli} ${verb}`;
  const text = lines([`${context.verb} refused: ${refused}`, ...details]);
  return output(options, { refused: [refused, ...details].join('\n') }, text, 1);
}

type FactsDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'config' | 'now' | 'by' | 'report'> & {
  read: ReadFacts;
  useKafka: UseKafka;
};

/** Connects a verb that reads the facts of a status: to MongoDB, and to Kafka if Kafka responds. */
export function withStatusFacts<T>(context: Context, use: (deps: FactsDeps) => Promise<T>): Promise<T> {
  const config = configs.everything(context.environment);
  const topics = topicsOf(config.TOPIC_PREFIX);
  return withMongo(context, config, async (deps) => {
    // Tries each broker once: if Kafka does not respond, the verb shows the facts of MongoDB.
    const { clients, close } = connectKafka(context, config, config.KAFKA_BROKERS.length);
    const useKafka: UseKafka = async (work) => work(await clients);
    try {
      const read: ReadFacts = (previous) => readFacts({ ...deps, topics }, useKafka, previous);
      return await use({ ...deps, read, useKafka });
    } finally {
      await close();
    }
  });
}
