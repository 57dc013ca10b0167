import { MongoError } from 'mongodb';

const awayNames = [
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoServerSelectionError',
  'MongoPoolClearedError',
  'MongoWriteConcernError',
];

/** A server that is shutting down, steps down, or is no primary (any more). */
const awayCodes = [91, 189, 10_107, 11_600, 11_602, 13_435, 13_436];

/** Whether a failure is the absence of the store or the brokers, which a restart would not end. */
export const isAway = (error: unknown): boolean =>
  error instanceof Error &&
  (awayNames.includes(error.name) ||
    error.name.startsWith('KafkaJS') ||
    (error instanceof MongoError && awayCodes.includes(Number(error.code))));
