import type { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { connectStore, openModel } from '../../services/projector/startup/preconditions.ts';
import { type OnWait, waiting } from '../../services/projector/startup/wait-until.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';

type StoreConfig = { DATABASE_NAME: string; GENERATION?: number | undefined };

/** Meets the preconditions of a projector that concern MongoDB, as its start does. */
export async function openStore(mongo: MongoClient, config: StoreConfig, onWait: OnWait) {
  const meet = waiting(onWait);
  const store = await connectStore.meetAll({ mongo, config }, meet);
  const logger = pino({ level: 'silent' });
  const base = { mongo, config, topics: topicsOf('support.'), isTrial: false, onWait, logger };
  return openModel.meetAll({ ...base, ...store }, meet);
}
