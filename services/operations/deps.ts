import type { Admin } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import type { LogClient } from '../../shared/kafka/log-client.ts';
import type { Deployment } from './deployment.ts';

/** The connections, settings and outputs with which an operator's command works. */
export type OperatorDeps = {
  admin: Admin;
  log: Pick<LogClient, 'find' | 'read'>;
  mongo: MongoClient;
  control: Db;
  config: {
    DATABASE_NAME: string;
    TOPIC_PREFIX: string;
    CONSUMER_GROUP?: string | undefined;
    DEPLOYMENT: Deployment;
    LATENESS_ALLOWANCE_SECONDS: number;
    DEAD_LETTER_MEGABYTES_MAX: number;
  };
  /** The entity topics. */
  topics: string[];
  /** MongoDB's clock. */
  now: () => Promise<Date>;
  /** The operator's name, for the history. */
  by: string;
  /** Prints a line of progress. */
  report: (line: string) => void;
  /** Called before each step of a start, a switch or a drop. Tests crash there. */
  onStep?: OnStep | undefined;
};

export type OnStep = (step: string) => Promise<void> | void;
