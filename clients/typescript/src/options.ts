import type { Retry } from './retry.ts';
import type { Conditional, RequestOptions } from './types.ts';
import { version } from './generated/version.ts';

export type ClientOptions = {
  /** URL of the API, such as `https://api.example.com`. Plain HTTP is accepted only for localhost. */
  baseUrl: string;
  apiKey: string;
  /** Replaces the platform's `fetch`, for a proxy or a private certificate authority. */
  fetch?: typeof fetch | undefined;
  /** Limit of one attempt, including reading the body. Default 60,000; at most 2^31 − 1. */
  timeoutMs?: number | undefined;
  /** Attempts after the first. Default 5; 0 = none. */
  retries?: number | undefined;
  /** No attempt begins later than this after the first one. Default 180,000. */
  retryForMs?: number | undefined;
  /** Put before the client's own name in `User-Agent`. */
  userAgent?: string | undefined;
  /** Called before each wait for a retry. */
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

/** Throws a `TypeError` that names the invalid option, and never contains the key. */
export function parseOptions({ userAgent, onRetry, ...options }: ClientOptions): Settings {
  if (!isHeaderText(options.apiKey))
    throw new TypeError('apiKey must be printable ASCII without spaces around it');
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

/** The options of a single request. */
export type SentOptions = RequestOptions & Partial<Pick<Conditional, 'ifNoneMatch'>>;

/** Overrides the client's options with the request's own. Throws a `TypeError` that names the invalid option. */
export function parseRequestOptions(
  settings: Pick<Settings, 'headers' | 'timeoutMs' | 'retries'>,
  { timeoutMs = settings.timeoutMs, retries = settings.retries, headers = {}, ifNoneMatch }: SentOptions,
): Pick<Settings, 'headers' | 'timeoutMs' | 'retries'> {
  const reserved = new Set(
    [...Object.keys(settings.headers), 'If-None-Match'].map((name) => name.toLowerCase()),
  );
  for (const [name, value] of Object.entries(headers)) {
    if (reserved.has(name.toLowerCase())) throw new TypeError(`headers must not have ${name}`);
    if (!isHeaderText(value)) throw new TypeError(`headers: ${name} must be printable ASCII`);
  }
  const conditional = ifNoneMatch ? { 'If-None-Match': ifNoneMatch } : {};
  return {
    headers: { ...headers, ...settings.headers, ...conditional },
    timeoutMs: wholeNumber('timeoutMs', timeoutMs, 1),
    retries: wholeNumber('retries', retries, 0),
  };
}

/** Checked here, because the platform's own error would quote the value. */
const isHeaderText = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);

/** Throws a `TypeError` that names the option. */
export function wholeNumber(name: string, value: number, minimum: number): number {
  if (Number.isInteger(value) && value >= minimum && value <= timerMaxMs) return value;
  throw new TypeError(`${name} must be a whole number from ${minimum} to ${timerMaxMs}`);
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns the URL without a trailing slash. Refuses plain HTTP, which would expose the key. */
function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
  if (!url || !isSafe) throw new TypeError('baseUrl must be an https: URL (http: only for localhost)');
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must have no user, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}
