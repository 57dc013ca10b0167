import { type Client, createMethods } from './generated/client.ts';
import type { ClientOptions } from './options.ts';
import { createRequests } from './requests.ts';
import type { RetryDeps } from './retry.ts';
import { sleep } from './signal.ts';

/** Creates a client of the API. You need not close it. Throws a `TypeError` for an invalid option. */
export const createClient = (options: ClientOptions): Client =>
  createClientWith({ sleep, random: Math.random, nowMs: () => performance.now() }, options);

/** Creates a client like `createClient`. Lets a test pass its own sleep, random source and clock. */
export const createClientWith = (deps: RetryDeps, options: ClientOptions): Client =>
  createMethods(createRequests(deps, options));
