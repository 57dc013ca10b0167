import type { IncomingMessage } from 'node:http';
import type { Counter } from 'prom-client';
import type { TokenRefusal } from '../../../shared/keys/token-keys.ts';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { ApiError } from '../http/api-error.ts';
import { retryAfter } from '../http/headers.ts';
import { clientAddress } from '../http/proxy.ts';
import type { MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';

/** The reason why a request has no valid key. */
export type KeyRefusal = 'missing' | 'malformed' | TokenRefusal;

/** Counts a request without a valid key against its client address, and returns the error that the client receives. */
export type RefuseKey = (request: IncomingMessage, reason: KeyRefusal) => ApiError;

type RefuseKeyDeps = {
  /** Counts requests without a valid key by client address. */
  authFailures: MemoryRateLimiter;
  /** Counts them by reason, as a metric. */
  counted: Pick<Counter<'reason'>, 'inc'>;
  trustedProxies: AddressRange[];
};

const challenge = { headers: { 'WWW-Authenticate': 'Bearer' } };

/**
 * Above the limit of an address, an invalid token is 429, and a missing one is still 401. Valid keys do not get here: a
 * client that guesses keys locks out no other client of its address.
 */
export function createRefuseKey({ authFailures, counted, trustedProxies }: RefuseKeyDeps): RefuseKey {
  return (request, reason) => {
    counted.inc({ reason });
    const { admitted, resetMs } = authFailures.consume(clientAddress(trustedProxies, request));
    if (reason === 'missing') return new ApiError('missing_api_key', challenge);
    if (admitted) return new ApiError('invalid_api_key', challenge);
    return new ApiError('too_many_requests', {
      message:
        'Too many requests from your address had no valid API key; send a valid key, or wait for the number of seconds in the `Retry-After` header.',
      headers: retryAfter(resetMs),
    });
  };
}
