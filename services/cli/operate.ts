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

type ControlDeps = MongoDeps<ControlConfig>;

export type ControlVerb<O> = (deps: ControlDeps, options: O, context: Context) => Promise<Output>;

/** Connects a verb that needs no Kafka and no read model. Returns a function for `SelectVerb`, as the next two do. */
export function withControlDatabase<O>(run: ControlVerb<O>) {
  return (context: Context, options: O): Promise<Output> =>
    withMongo(context, configs.mongo(context.environment), (deps) => run(deps, options, context));
}

/** `database` contains the documents of the served generation. */
export type ServedDeps = ControlDeps & { database: Db };

export type ReadModelVerb<O> = (deps: ServedDeps, options: O, context: Context) => Promise<Output>;

/** Connects a verb that needs no Kafka. Throws if the database has no read model, because its name may be wrong. */
export function withReadModel<O>(run: ReadModelVerb<O>) {
  return withControlDatabase<O>(async (deps, options, context) => {
    const { generation } = await requireRegistry(deps.control);
    const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, generation);
    return run({ ...deps, database }, options, context);
  });
}

export type OperatorVerb<O> = (deps: OperatorDeps, options: O) => Promise<Output>;

/** Connects a verb to Kafka and MongoDB. If the verb is refused, prints the refusal, with exit code 1. */
export function withKafkaAndMongo<O extends Json>(run: OperatorVerb<O>) {
  return (context: Context, options: O): Promise<Output> => {
    const config = configs.everything(context.environment);
    const topics = topicsOf(config.TOPIC_PREFIX);
    return withKafka(context, config, (kafka, logger) =>
      withMongo(context, config, (deps) => {
        const onStep = (step: string) => logger.debug({ verb: context.verb, step }, 'step');
        const running = run({ ...deps, ...kafka, topics, onStep }, options);
        return running.catch(outputOfRefusal(context, options));
      }),
    );
  };
}

/** Returns the output of a refused verb. Throws every other error again. */
export const outputOfRefusal = (context: Context, options: Json) => (error: unknown) => {
  if (!(error instanceof RebuildRefused)) throw error;
  const { summary, verb, details } = error;
  const refused = verb === null ? summary : `${summary}: ${context.cli} ${verb}`;
  const text = lines([`${context.verb} refused: ${refused}`, ...details]);
  return output(options, { refused: [refused, ...details].join('\n') }, text, 1);
};

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
