import type { Retry } from './retry.ts';
import type { Conditional, RequestOptions } from './types.ts';
import { version } from './generated/version.ts';

export type ClientOptions = {
  /** Where the API is, such as `https://api.example.com`. Plain HTTP is taken for this machine alone. */
  baseUrl: string;
  apiKey: string;
  /** Takes the place of the platform's `fetch`, for a proxy or an own certificate authority. */
  fetch?: typeof fetch | undefined;
  /** Limit of one attempt, with the reading of its body. Default 60,000; at most 2^31 − 1. */
  timeoutMs?: number | undefined;
  /** Attempts after the first. Default 5; 0 = none. */
  retries?: number | undefined;
  /** No attempt begins later than this after the first one. Default 180,000. */
  retryForMs?: number | undefined;
  /** Put before the client's own name in `User-Agent`. */
  userAgent?: string | undefined;
  /** Told of every attempt that will be repeated, before the wait. */
  onRetry?: ((retry: Retry) => void) | undefined;
};

export type Settings = {
  baseUrl: string;
  headers: Record<string, string>;
  timeoutMs: number;
  retries: number;
  retryForMs: number;
  onRetry: (retry: Retry) => void;
};

const timerMaxMs = 2_147_483_647;

/** Fails with a `TypeError` that names the option, and never shows the key. */
export function parseOptions({ userAgent, onRetry, ...options }: ClientOptions): Settings {
  if (!isHeaderText(options.apiKey)) throw new TypeError('apiKey must be the text of a key');
  if (userAgent !== undefined && !isHeaderText(userAgent)) {
    throw new TypeError('userAgent must be printable ASCII');
  }
  const product = `support-read-models-client/${version}`;
  return {
    baseUrl: parseBaseUrl(options.baseUrl),
    headers: {
      Accept: 'application/json',
      Authorization: `Bearer ${options.apiKey}`,
      'User-Agent': userAgent === undefined ? product : `${userAgent} ${product}`,
    },
    timeoutMs: wholeNumber('timeoutMs', options.timeoutMs ?? 60_000, 1),
    retries: wholeNumber('retries', options.retries ?? 5, 0),
    retryForMs: wholeNumber('retryForMs', options.retryForMs ?? 180_000, 0),
    onRetry: onRetry ?? (() => undefined),
  };
}

/** The options of any one request. */
export type SentOptions = RequestOptions & Partial<Pick<Conditional, 'ifNoneMatch'>>;

/** A request's own options in the place of the client's. Fails with a `TypeError` that names the option. */
export function parseRequestOptions(
  settings: Pick<Settings, 'headers' | 'timeoutMs' | 'retries'>,
  { timeoutMs = settings.timeoutMs, retries = settings.retries, headers = {}, ifNoneMatch }: SentOptions,
): Pick<Settings, 'headers' | 'timeoutMs' | 'retries'> {
  const taken = new Set(
    [...Object.keys(settings.headers), 'If-None-Match'].map((name) => name.toLowerCase()),
  );
  for (const [name, value] of Object.entries(headers)) {
    if (taken.has(name.toLowerCase())) throw new TypeError(`headers must not have ${name}`);
    if (!isHeaderText(value)) throw new TypeError(`headers must have printable ASCII in ${name}`);
  }
  const conditional = ifNoneMatch ? { 'If-None-Match': ifNoneMatch } : {};
  return {
    headers: { ...headers, ...settings.headers, ...conditional },
    timeoutMs: wholeNumber('timeoutMs', timeoutMs, 1),
    retries: wholeNumber('retries', retries, 0),
  };
}

/** What a header cannot hold, the platform would quote in its error. */
const isHeaderText = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);

/** Fails with a `TypeError` that names the number. */
export function wholeNumber(name: string, value: number, minimum: number): number {
  if (Number.isInteger(value) && value >= minimum && value <= timerMaxMs) return value;
  throw new TypeError(`${name} must be a whole number from ${minimum} to ${timerMaxMs}`);
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The address without a slash at its end. A key sent over plain HTTP is a key lost. */
function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
  if (!url || !isSafe) throw new TypeError('baseUrl must be an https: address');
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must have no user, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}
