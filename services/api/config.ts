import { accessSync, constants } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { readConfig, type ConfigResult, type Environment } from '../../shared/runtime/config.ts';
import { commonSettings, flag, port, storeSettings } from '../../shared/runtime/settings.ts';
import type { AddressRange } from './http/proxy.ts';

const webAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .transform((value) => value.replace(/\/+$/, ''));

const addressRanges = z.string().transform((value, context): AddressRange[] => {
  const texts = value.split(',').map((text) => text.trim());
  const ranges = texts.map(parseRange);
  const parsed = ranges.filter((range) => range !== null);
  if (parsed.length === texts.length) return parsed;
  context.addIssue({ code: 'custom', message: 'must be addresses or CIDR ranges, separated by commas' });
  return z.NEVER;
});

function parseRange(text: string): AddressRange | null {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) return null;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Every setting of the API; the README's table is made of these. */
export const apiSettings = {
  ...storeSettings,
  API_HOST: z
    .string()
    .default('0.0.0.0')
    .describe('Address to listen on; all by default, since a service is reached from outside its container'),
  API_PORT: port.default(8080).describe('Port to listen on; 0 = any free, printed'),
  API_TLS_CERT: z
    .string()
    .optional()
    .describe(
      'File with the certificate chain (PEM); with `API_TLS_KEY` the API terminates TLS; both are read again when they change',
    ),
  API_TLS_KEY: z.string().optional().describe("File with the certificate's key (PEM)"),
  API_TRUSTED_PROXIES: addressRanges
    .default([])
    .describe(
      'Addresses or CIDR ranges, separated by commas, whose `X-Forwarded-Proto` and `X-Forwarded-For` are believed',
    ),
  API_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'Connections open at once, about 80 KB each, and HTTP/2 streams on all of them; further ones are closed unanswered',
    ),
  API_CONNECTIONS_PER_ADDRESS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe(
      'Connections open at once from one client address (IPv6: /64), and HTTP/2 streams on them; further ones are closed unanswered; trusted proxies have no bound',
    ),
  API_REQUESTS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe(
      'Requests with a valid key under way at once, until their answers are taken, a quarter of them for one organization; further ones are 503 `service_unavailable`',
    ),
  API_ANSWERS_MB_MAX: z.coerce
    .number()
    .int()
    .min(64)
    .max(1_000_000)
    .default(128)
    .describe(
      'Megabytes that answers take at once: for each read what it is expected to bring by the documents that its organization was lately given (16 for a page and 4 for a document of one not met before), then their text until the client has taken it; a quarter of them for one organization; further reads wait up to 10 s, then 503 `service_unavailable`',
    ),
  API_SCAN_ENTRIES_MAX: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(10_000_000)
    .default(20_000)
    .describe(
      'Index entries that the store looks at for one page of tickets filtered by another date than they are sorted by; the page ends there, and its cursor goes on',
    ),
  API_BASE_URL: webAddress
    .optional()
    .describe('Public address of the API, for links in errors; default: `https://localhost:<API_PORT>`'),
  DOCS_URL: webAddress
    .optional()
    .describe('Errors link to `<DOCS_URL>/errors/<code>`; default: `<API_BASE_URL>/docs`'),
  BRAND: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,31}$/, 'must be a letter and up to 31 letters, digits or -')
    .default('svc')
    .describe('Prefix of API keys, and what `sendingDomain` shows for mail from the own domain'),
  RATE_LIMIT_REQUESTS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(100)
    .describe('Requests that one key may make in any stretch of time as long as the window; 0 = no limit'),
  RATE_LIMIT_WINDOW_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(60)
    .describe('Length of the window, in seconds'),
  REQUEST_TRACES: flag
    .default(true)
    .describe('Keep a trace of each request, shown by `npm run cli -- trace <Request-Id>`'),
  REQUEST_TRACE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(90)
    .describe('Days for which a trace is kept; another value holds for the traces written from then on'),
  REQUEST_TRACES_KEYLESS_MAX: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(600)
    .describe(
      'Traces kept a minute, by each replica, of requests without a valid key or beyond the rate limit; further ones are counted as lost',
    ),
  RATE_LIMIT_STORE_URL: z
    .string()
    .regex(/^rediss?:\/\/./, 'must start with redis:// or rediss://')
    .optional()
    .describe('Redis or Valkey in which all replicas count together; unset, or while away: each for itself'),
  AUTH_FAILURE_LIMIT: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(300)
    .describe(
      'Invalid keys that one client address may try in a window, at each replica; further ones are 429, while valid keys of that address pass; 0 = no limit',
    ),
  ...commonSettings,
};

export type ApiConfig = z.output<z.ZodObject<typeof apiSettings>>;

export const readApiConfig = (environment: Environment): ConfigResult<ApiConfig> =>
  readConfig(apiSettings, environment, tlsFaults);

function tlsFaults(given: Environment): string[] {
  const names = ['API_TLS_CERT', 'API_TLS_KEY'];
  const set = names.filter((name) => given[name]);
  if (set.length === 1) {
    const missing = names.filter((name) => !given[name]);
    return [`${missing.join()} is not set, but ${set.join()} is`];
  }
  return set.filter((name) => !isReadable(given[name] ?? '')).map((name) => `${name}: cannot be read`);
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
