import { version } from './generated/version.ts';
import type { RequestOptions } from './types.ts';

export interface ClientOptions {
  /** URL of the API, such as `https://api.example.com`. Plain HTTP is accepted only for localhost. */
  baseUrl: string;
  apiKey: string;
  /** Replaces the platform's `fetch`, for a proxy or a private certificate authority. */
  fetch?: typeof fetch | undefined;
  /** Limit of one attempt, including reading the body. Default 60,000; at most 2^31 − 1. */
  timeoutMs?: number | undefined;
  /** Attempts after the first. Default 5; 0 = none. */
  retries?: number | undefined;
  /**
   * No attempt begins later than this after the first one; waits for the rate limit are not counted. Default 180,000.
   */
  retryForMs?: number | undefined;
}

const timerMaxMs = 2_147_483_647;

/** The settings of a request. Each request may override those of its client. */
type RequestSettings = {
  /** The headers of each request, including the key. */
  headers: Record<string, string>;
  /** See `ClientOptions`. */
  timeoutMs: number;
  /** See `ClientOptions`. */
  retries: number;
};

/** The options of a client, checked, with their defaults. */
type ParsedOptions = RequestSettings & {
  /** The URL of the API without a slash at its end. */
  baseUrl: string;
  /** See `ClientOptions`. */
  retryForMs: number;
};

/** Throws a `TypeError` that names the invalid option, and never contains the key. */
export function parseOptions(options: ClientOptions): ParsedOptions {
  return {
    baseUrl: parseBaseUrl(options.baseUrl),
    headers: {
      Accept: 'application/json',
      Authorization: `Bearer ${parseApiKey(options.apiKey)}`,
      'User-Agent': `support-read-models-client/${version}`,
    },
    timeoutMs: requireWholeNumber('timeoutMs', options.timeoutMs ?? 60_000, 1),
    retries: requireWholeNumber('retries', options.retries ?? 5, 0),
    retryForMs: requireWholeNumber('retryForMs', options.retryForMs ?? 180_000, 0),
  };
}

/** Overrides the client's options with the request's own. Throws a `TypeError` that names the invalid option. */
export function parseRequestOptions(
  settings: RequestSettings,
  { timeoutMs = settings.timeoutMs, retries = settings.retries, headers = {} }: RequestOptions,
): RequestSettings {
  // The caller may not set `If-None-Match` either: a 304 would have no data.
  const reserved = new Set(
    [...Object.keys(settings.headers), 'If-None-Match'].map((name) => name.toLowerCase()),
  );
  for (const [name, value] of Object.entries(headers)) {
    if (reserved.has(name.toLowerCase())) throw new TypeError(`headers must not have ${name}`);
    if (!isHeaderText(value)) throw new TypeError(`headers: ${name} must be printable ASCII`);
  }
  return {
    headers: { ...headers, ...settings.headers },
    timeoutMs: requireWholeNumber('timeoutMs', timeoutMs, 1),
    retries: requireWholeNumber('retries', retries, 0),
  };
}

/**
 * Returns the key. Callers pass an environment variable: if it is not set, the value is undefined, or '' if their code
 * has `?? ''` for the compiler.
 */
function parseApiKey(value: string | undefined): string {
  if (!value) {
    const means = 'If it comes from an environment variable, that variable is not set.';
    throw new TypeError(`apiKey is missing: pass an API key of your organization. ${means}`);
  }
  if (isHeaderText(value)) return value;
  throw new TypeError('apiKey must be printable ASCII without spaces around it');
}

/** Whether a header can have the value. The error of the platform would contain the value, which may be the key. */
const isHeaderText = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);

/** Throws a `TypeError` that names the option. */
export function requireWholeNumber(name: string, value: number, minimum: number): number {
  if (Number.isInteger(value) && value >= minimum && value <= timerMaxMs) return value;
  throw new TypeError(`${name} must be a whole number from ${minimum} to ${timerMaxMs}`);
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns the URL without a trailing slash. Refuses plain HTTP, which would expose the key. */
function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
  if (!url || !isSafe)
    throw new TypeError(
      'baseUrl must be an https: URL, such as https://api.example.com (http: only for localhost)',
    );
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must have no user, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}
