import { setImmediate } from 'node:timers/promises';
import { createClientWith } from '../../clients/typescript/src/client.ts';
import type { ClientOptions } from '../../clients/typescript/src/options.ts';
import * as build from '../api/builders.ts';
import { tokens } from '../api/test-api.ts';

type Options = Partial<ClientOptions> & {
  baseUrl: string;
  /** Called instead of a wait, with its length. The client's clock advances by the same time. */
  onWait?: (delayMs: number) => Promise<void> | void;
};

/**
 * Creates a client of an API that trusts a proxy on loopback. The waits of the client take no time. `requested` lists
 * the path and query of each request so far, and `waitsMs` the length of each wait.
 */
export function connect({ onWait, baseUrl, ...options }: Options) {
  const requested: string[] = [];
  const waitsMs: number[] = [];
  let nowMs = 0;
  const fetchAsProxy: typeof fetch = (url, init) => {
    const { pathname, search } = new URL(url as URL | string);
    requested.push(pathname + search);
    const headers = { ...(init?.headers as Record<string, string>), 'X-Forwarded-Proto': 'https' };
    return (options.fetch ?? fetch)(url, { ...init, headers });
  };
  const sleep = async (delayMs: number, signal: AbortSignal | undefined) => {
    waitsMs.push(delayMs);
    nowMs += delayMs;
    await onWait?.(delayMs);
    await setImmediate();
    signal?.throwIfAborted();
  };
  const deps = { sleep, random: () => 0.5, nowMs: () => nowMs };
  const client = createClientWith(deps, { apiKey: tokens.a, baseUrl, ...options, fetch: fetchAsProxy });
  return { client, requested, waitsMs };
}

/** Returns the error of a promise. Throws if the promise resolves. */
export const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error('the promise resolved, but its failure was expected');
    },
    (error: unknown) => error,
  );

/** The joined data of a ticket with these conversations. */
export const joinedConversations = (ids: string[]) =>
  build.ticketJoined({
    conversations: ids.map((id) => ({ ...build.ticketJoined().conversations[0], id }) as never),
  });

/** Creates a fetch that can leave requests for messages without a response until their signal aborts. */
export function createHoldingFetch() {
  /** How many requests for messages get a response, or null if all do. */
  let answersLeft: number | null = null;
  /** The signals of the requests without a response. */
  const pendingSignals = new Set<AbortSignal | null | undefined>();
  const untilAborted = ({ signal }: RequestInit = {}) =>
    new Promise<Response>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  return {
    pendingSignals,
    /** Holds all requests for messages after the next `count`. */
    holdRequestsAfter: (count: number) => {
      answersLeft = count;
    },
    fetch: (url: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> => {
      const isForMessages = JSON.stringify(url).includes('/messages');
      const isHeld = isForMessages && answersLeft === 0;
      if (isForMessages && answersLeft) answersLeft -= 1;
      pendingSignals.add(init?.signal);
      const response = isHeld ? untilAborted(init) : fetch(url, init);
      return response.finally(() => pendingSignals.delete(init?.signal));
    },
  };
}
