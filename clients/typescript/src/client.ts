import { attempt } from './attempt.ts';
import { createMethods, type Client } from './generated/client.ts';
import { parseOptions, parseRequestOptions, type ClientOptions } from './options.ts';
import { createRequests, type Get } from './requests.ts';
import { createRetries, type RetryDeps } from './retry.ts';
import { sleep } from './signal.ts';
import { requestUrl } from './url.ts';

/** Creates a client of the API. It needs no closing. Throws a `TypeError` for an invalid option. */
export const createClient = (options: ClientOptions): Client =>
  createClientWith({ sleep, random: Math.random, nowMs: () => performance.now() }, options);

/** Creates a client with its own wait, random source and clock, for tests. */
export const createClientWith = (deps: RetryDeps, options: ClientOptions): Client =>
  createMethods(createRequests(createGet(deps, options)));

/** The key is in a closure and in no property, so that printing a client does not reveal it. */
function createGet(clock: RetryDeps, options: ClientOptions): Get {
  const { baseUrl, retryForMs, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  const withRetries = createRetries(clock);
  return async (path, id, params, { signal, ...sent }) => {
    const url = requestUrl(baseUrl, path, id, params);
    const { headers, timeoutMs, retries } = parseRequestOptions(settings, sent);
    const request = { url, headers, timeoutMs, signal };
    return withRetries({ retries, retryForMs, signal }, () => attempt(fetch, request));
  };
}
