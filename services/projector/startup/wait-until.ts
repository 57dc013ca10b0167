import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { remedyFor } from '../../../shared/kafka/remedies.ts';
import { isTransient } from '../../../shared/kafka/transient-errors.ts';
import { retryPauseMs } from '../../../shared/store/transient-errors.ts';
import { createRefusalLimit } from '../refusal-limit.ts';

/** A requirement of the projector is not met yet, but may be while it waits. */
export class NotReady extends Error {
  override name = 'NotReady';
}

/** The projector cannot start, and waiting does not help. The message says what is wrong and what to do. */
export class StartRefused extends Error {
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
 * if the error is permanent, such as wrong credentials or an index conflict, or if a certificate is refused for a
 * minute of the monotonic clock `nowMs`.
 */
export async function waitUntil<T>(
  onWait: OnWait,
  condition: string,
  attempt: () => Promise<T>,
  nowMs: () => number = () => performance.now(),
): Promise<T> {
  const refusalLimit = createRefusalLimit(nowMs);
  let permanentErrors = 0;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const reason = errorMessage(error);
      const isTemporary = isTransient(error) || error instanceof NotReady;
      if (!isTemporary) permanentErrors += 1;
      if (permanentErrors >= permanentErrorsMax || (isTemporary && refusalLimit.isReached(error))) {
        const remedy = remedyFor(error) ?? 'Waiting does not help: see the error and its cause';
        throw new StartRefused(`${reason}. ${remedy}`, { cause: error });
      }
      onWait(isTemporary ? condition : 'refused; trying again', reason);
      await sleep(retryPauseMs(error, attempts, pauseMs));
    }
  }
}
