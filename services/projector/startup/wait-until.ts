import { explained, isOfKafka, isTransient } from '../../../shared/kafka/errors.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Meet } from '../../../shared/runtime/preconditions.ts';
import { retry } from '../../../shared/store/retry.ts';
import { createRefusalLimit } from '../refusal-limit.ts';

/** The projector must wait for `condition`. The message has the reason. */
export class NotReady extends Error {
  override name = 'NotReady';
  readonly condition: string;

  constructor(condition: string, message: string) {
    super(message);
    this.condition = condition;
  }
}

/** The projector cannot start, and waiting does not help. The message says what is wrong and what to do. */
export class StartRefused extends Error {
  override name = 'StartRefused';
}

/**
 * An error counts as permanent only at its third occurrence, because projectors that start together may collide while
 * they create indexes.
 */
const permanentErrorsMax = 3;

/** The last sentence of a refusal without a known fix. */
const seeTheLog = 'Waiting does not help: the log of this projector has the cause';

/** The pause between attempts, in milliseconds. */
const pauseMs = 2_000;

/** Receives the condition that a start waits for, and why the last attempt failed. */
export type OnWait = (condition: string, reason: string) => void;

/** The condition that a start waits for after an error that may pass. An error of a server only names the server. */
function conditionOf(error: unknown): string {
  if (error instanceof NotReady) return error.condition;
  return isOfKafka(error) ? 'the brokers are unavailable' : 'MongoDB is unavailable';
}

/**
 * Retries `attempt` until it succeeds, and reports the missing condition at each failure. Rejects with `StartRefused`
 * in three cases: the attempt rejects with it; the error is permanent, such as wrong credentials or an index conflict;
 * or a server refuses a certificate for a minute. `nowMs` is a monotonic clock.
 */
export async function waitUntil<T>(
  onWait: OnWait,
  attempt: () => Promise<T>,
  nowMs: () => number = () => performance.now(),
): Promise<T> {
  const refusalLimit = createRefusalLimit(nowMs);
  let permanentErrors = 0;
  const onFailed = (error: unknown) => {
    if (error instanceof StartRefused) throw error;
    const isTemporary = isTransient(error) || error instanceof NotReady;
    if (!isTemporary) permanentErrors += 1;
    if (permanentErrors >= permanentErrorsMax || (isTemporary && refusalLimit.isReached(error))) {
      const known = explained(error);
      const text = known === errorMessage(error) ? `${known}. ${seeTheLog}` : known;
      throw new StartRefused(text, { cause: error });
    }
    onWait(isTemporary ? conditionOf(error) : 'refused; trying again', explained(error));
  };
  return retry({ pauseMs, onFailed }, attempt);
}

/** Returns the `Meet` of a start, which retries a condition until it is met. */
export const waiting =
  (onWait: OnWait): Meet =>
  (_, attempt) =>
    waitUntil(onWait, attempt);
