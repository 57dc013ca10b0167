import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import {
  authenticationErrors,
  errorChain,
  isTransient,
  permissionErrors,
} from '../kafka/transient-errors.ts';

/** A requirement of the projector is not met yet, but may be while it waits. */
export class NotReady extends Error {
  override name = 'NotReady';
}

/** The projector cannot start, and waiting does not help. The message says what is wrong and what to do. */
class StartRefused extends Error {
  override name = 'StartRefused';
}

/** Projectors that start together may collide while they create indexes, so only repeated errors are permanent. */
const permanentErrorsMax = 3;

/** The pause between attempts, in milliseconds. */
const pauseMs = 2_000;

/** Receives the condition that a start waits for, and why the last attempt failed. */
export type OnWait = (condition: string, reason: string) => void;

/**
 * Retries `attempt` until it succeeds, and reports the missing condition at each failure. Rejects with `StartRefused`
 * if the error is permanent, such as wrong credentials or an index conflict.
 */
export async function waitUntil<T>(onWait: OnWait, condition: string, attempt: () => Promise<T>): Promise<T> {
  for (let permanentErrors = 0; ;) {
    try {
      return await attempt();
    } catch (error) {
      const reason = errorMessage(error);
      const isTemporary = isTransient(error) || error instanceof NotReady;
      if (!isTemporary && (permanentErrors += 1) >= permanentErrorsMax) {
        const remedy = remedyFor(error) ?? 'Waiting does not help: see the error and its cause';
        throw new StartRefused(`${reason}. ${remedy}`, { cause: error });
      }
      onWait(isTemporary ? condition : 'refused; trying again', reason);
      await sleep(pauseMs);
    }
  }
}

const remedies: { codes: (string | number)[]; remedy: string }[] = [
  {
    codes: ['OtherProjectionVersion'],
    remedy:
      'A rebuild is due: support-cli rebuild start, then start this release with the GENERATION that it prints',
  },
  {
    codes: ['NoSuchGeneration'],
    remedy: 'Unset GENERATION to follow the active one; support-cli rebuild status lists them',
  },
  {
    codes: [85, 86],
    remedy:
      'An existing index differs from the one that this version declares. If another version filled the database, ' +
      'rebuild the read model into a new one (support-cli rebuild start); otherwise drop ' +
      'the index, and the next start creates it again',
  },
  { codes: [18], remedy: 'Check the user and the password in MONGODB_URL' },
  {
    codes: [13],
    remedy:
      'The user in MONGODB_URL needs the role readWrite on <DATABASE_NAME> and on <DATABASE_NAME>_g1, _g2, …',
  },
  {
    codes: permissionErrors,
    remedy: 'The Kafka user needs Read and Describe on the topics and on the CONSUMER_GROUP',
  },
  {
    codes: authenticationErrors,
    remedy:
      'Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SSL against the listener ' +
      'that KAFKA_BROKERS names',
  },
];

/** The remedy for an error of MongoDB or the brokers; null if none is known. */
export function remedyFor(error: unknown): string | null {
  const codes = errorChain(error).flatMap((cause) => {
    const { name, code, type } = cause as { name: string; code?: unknown; type?: unknown };
    return [name, code, type];
  });
  return remedies.find((item) => item.codes.some((code) => codes.includes(code)))?.remedy ?? null;
}
