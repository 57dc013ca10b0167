import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { errorChain, isTransient } from './transient-errors.ts';

/** What the projector needs is not there yet, and may come while it waits. */
export class NotThereYet extends Error {
  override name = 'NotThereYet';
}

/** A refusal at start that no waiting changes; the message says what is wrong, and what to do. */
export class StartRefused extends Error {
  override name = 'StartRefused';
}

/** Projectors that start at once may collide on what both create; a refusal that comes so often is one. */
const refusalsMax = 3;

/** Pause before another attempt, in milliseconds. */
const pauseMs = 2_000;

/**
 * Tries until it succeeds, and logs each time what is waited for. Rejects with `StartRefused` where the failure
 * does not pass by itself, such as wrong credentials or an index conflict.
 */
export async function waitUntil<T>(
  logger: Logger,
  waitingFor: string,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let refusals = 0; ;) {
    try {
      return await attempt();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const passes = isTransient(error) || error instanceof NotThereYet;
      if (!passes && (refusals += 1) >= refusalsMax)
        throw new StartRefused(`${reason}. ${remedy(error)}`, { cause: error });
      logger.warn({ reason }, `waiting: ${passes ? waitingFor : 'refused; trying again'}`);
      await sleep(pauseMs);
    }
  }
}

const remedies: { codes: (string | number)[]; remedy: string }[] = [
  {
    codes: ['OtherProjectionVersion'],
    remedy: 'Rebuild the read model into an empty database (DATABASE_NAME) with a new CONSUMER_GROUP',
  },
  {
    codes: [85, 86],
    remedy:
      'An index there is not the one that this version declares. If the database was filled by another version, ' +
      'rebuild the read model into an empty database (DATABASE_NAME) with a new CONSUMER_GROUP; otherwise drop ' +
      'the index, and it is created anew at the next start',
  },
  { codes: [18], remedy: 'Check the user and the password in MONGODB_URL' },
  {
    codes: [13],
    remedy:
      'The user in MONGODB_URL needs the role readWrite on <DATABASE_NAME> and on <DATABASE_NAME>_g1, _g2, …',
  },
  {
    codes: [
      'TOPIC_AUTHORIZATION_FAILED',
      'GROUP_AUTHORIZATION_FAILED',
      'CLUSTER_AUTHORIZATION_FAILED',
      'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    ],
    remedy:
      'The Kafka user needs Read and Describe on the topics and on the CONSUMER_GROUP, and Write on the ' +
      'dead-letter topic',
  },
  {
    codes: [
      'UNSUPPORTED_SASL_MECHANISM',
      'ILLEGAL_SASL_STATE',
      'SASL_AUTHENTICATION_FAILED',
      'SECURITY_DISABLED',
      'KafkaJSSASLAuthenticationError',
    ],
    remedy:
      'Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SSL against the listener ' +
      'that KAFKA_BROKERS names',
  },
];

function remedy(error: unknown): string {
  const codes = errorChain(error).flatMap((one) => {
    const { name, code, type } = one as { name: string; code?: unknown; type?: unknown };
    return [name, code, type];
  });
  return (
    remedies.find((one) => one.codes.some((code) => codes.includes(code)))?.remedy ??
    'This does not pass by itself: see the error and its cause'
  );
}
