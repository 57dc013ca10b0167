import { attempt } from './attempt.ts';
import { createGate } from './gate.ts';
import { createMethods, type Client } from './generated/client.ts';
import { parseOptions, parseRequestOptions, type ClientOptions } from './options.ts';
import { createRequests, type Get } from './requests.ts';
import { withRetries, type RetryDeps } from './retry.ts';
import { sleep } from './signal.ts';
import { requestUrl } from './url.ts';

/** Creates a client of the API. It needs no closing. Throws a `TypeError` for an invalid option. */
export const createClient = (options: ClientOptions): Client =>
  createClientWith({ sleep, random: Math.random, nowMs: Date.now }, options);

/** Creates a client with its own wait, random source and clock, for tests. */
export const createClientWith = (deps: Omit<RetryDeps, 'gate'>, options: ClientOptions): Client =>
  createMethods(createRequests(createGet(deps, options)));

/** The key is in a closure and in no property, so that printing a client does not reveal it. */
function createGet(clock: Omit<RetryDeps, 'gate'>, options: ClientOptions): Get {
  const { baseUrl, retryForMs, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  const deps = { ...clock, gate: createGate(clock) };
  return async (path, id, params, { signal, ...sent }) => {
    const url = requestUrl(baseUrl, path, id, params);
    const { headers, timeoutMs, retries } = parseRequestOptions(settings, sent);
    const request = { url, headers, timeoutMs, signal };
    return withRetries(deps, { retries, retryForMs, signal }, () =>
      attempt({ fetch, nowMs: clock.nowMs }, request),
    );
  };
}
