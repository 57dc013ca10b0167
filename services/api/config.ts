import { z } from 'zod';
import { rateLimitMax } from '../../shared/documents/api-key.ts';
import { addressRanges } from '../../shared/runtime/addresses.ts';
import { type ConfigResult, type Environment, orFile, readConfig } from '../../shared/runtime/config.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { isReadable } from '../../shared/runtime/is-readable.ts';
import { commonSettings, integer, port, storeSettings } from '../../shared/runtime/settings.ts';
import { readCertificate } from './server/certificate.ts';

/** The name of the typed client, unless its provider has built it under another name. */
export const clientPackage = '@support-read-models/client';

const webAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .transform((value) => value.replace(/\/+$/, ''));

const brandName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,31}$/, 'must be a letter and up to 31 letters, digits or -')
  .default('svc');

/** Every setting of the API. `npm run docs` generates the table of docs/configuration.md from them. */
export const apiSettings = {
  ...storeSettings,
  API_HOST: z
    .string()
    .default('0.0.0.0')
    .describe('Address to listen on; by default all, because clients are outside the container'),
  API_PORT: port.default(8080).describe('Port to listen on; 0 = any free port, which is logged'),
  API_TLS_CERT: z
    .string()
    .optional()
    .describe(
      'File with the certificate chain (PEM); with `API_TLS_KEY` the API terminates TLS; both files are reloaded when they change',
    ),
  API_TLS_KEY: z.string().optional().describe("File with the certificate's key (PEM)"),
  API_TRUSTED_PROXIES: addressRanges
    .default([])
    .describe(
      'Addresses or CIDR ranges, separated by commas, of the proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are trusted',
    ),
  API_CONNECTIONS_MAX: integer(1, 1_000_000)
    .default(5_000)
    .describe(
      'Maximum of open connections, about 80 KB each. One client address (IPv6: /64) may open a tenth of them, unless it is a trusted proxy',
    ),
  API_KEEP_ALIVE_SECONDS: integer(5, 86_400)
    .default(65)
    .describe(
      'Seconds that an idle connection stays open. Must be longer than the idle timeout of the load balancer, which otherwise uses closing connections',
    ),
  API_REQUESTS_MAX: integer(1, 1_000_000)
    .default(500)
    .describe(
      'Maximum of [requests in progress](run.md#connections-and-requests-in-progress) with a valid key; above it, a request gets 503, or 429 above a share',
    ),
  API_ANSWERS_MB_MAX: integer(64, 1_000_000)
    .default(128)
    .describe(
      'Megabytes that [requests in progress](run.md#connections-and-requests-in-progress) may take; above it, reads wait up to 10 s, and then get 503 or 429',
    ),
  API_BASE_URL: webAddress
    .optional()
    .describe(
      'Public address of the API; errors link to `<API_BASE_URL>/docs/errors/<code>`; default: `https://localhost:<API_PORT>`',
    ),
  KEY_PREFIX: brandName.describe('API keys begin with `<KEY_PREFIX>_live_` or `<KEY_PREFIX>_test_`'),
  BRAND: brandName.describe(
    "The brand's name: the value of `sendingDomain` for mail sent from the service's own domain",
  ),
  CLIENT_PACKAGE: z
    .string()
    .regex(/^(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*$/, 'must be the name of a package of npm')
    .default(clientPackage)
    .describe(
      'Name of the TypeScript client in documentation and samples: the name under which you build it ([the client](../clients/typescript/README.md))',
    ),
  RATE_LIMIT_REQUESTS: integer(0, rateLimitMax)
    .default(100)
    .describe('Requests that a key without its own limit may make in any minute; 0 = no limit'),
  REQUEST_TRACE_DAYS: integer(0, 3_650)
    .default(90)
    .describe(
      'Days for which the API keeps a trace of each request, for `support-cli trace <Request-Id>`; 0 = no traces; a new value applies to later traces',
    ),
  RATE_LIMIT_STORE_URL: z
    .string()
    .regex(/^rediss?:\/\/./, { error: 'must start with redis:// or rediss://', abort: true })
    .refine(
      (url) => URL.canParse(url),
      'is not a valid address: check it, and percent-encode the special characters of its password',
    )
    .optional()
    .describe(
      'Redis or Valkey in which all API processes share their counts; if it is unset or unavailable, each process counts on its own',
    )
    .meta(orFile),
  SHUTDOWN_DELAY_SECONDS: integer(0, 300)
    .default(5)
    .describe(
      'Seconds after SIGTERM in which `/readyz` answers 503 and the API still accepts connections, so that load balancers stop using it in time',
    ),
  ...commonSettings,
};

export type ApiConfig = z.output<z.ZodObject<typeof apiSettings>>;

export const readApiConfig = (environment: Environment): ConfigResult<ApiConfig> =>
  readConfig(apiSettings, environment, tlsErrors);

/** The rules that join the two settings of the certificate. */
function tlsErrors({ API_TLS_CERT: cert, API_TLS_KEY: key }: Environment): string[] {
  if (!cert && !key) return [];
  if (!cert) return ['API_TLS_CERT is not set, but API_TLS_KEY is: set both, or neither'];
  if (!key) return ['API_TLS_KEY is not set, but API_TLS_CERT is: set both, or neither'];
  // The error of Node.js would repeat the path, which is the key itself if it was set by mistake.
  const unreadable = Object.entries({ API_TLS_CERT: cert, API_TLS_KEY: key }).filter(
    ([, path]) => !isReadable(path),
  );
  if (unreadable.length > 0) return unreadable.map(([name]) => `${name}: cannot be read`);
  try {
    readCertificate({ cert, key });
    return [];
  } catch (error) {
    return [`API_TLS_CERT, API_TLS_KEY: ${errorMessage(error)}`];
  }
}
