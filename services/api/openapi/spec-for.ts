import { readApiConfig } from '../config.ts';
import type { Environment } from '../../../shared/runtime/config.ts';
import { createRegistry } from '../resources/registry.ts';
import { createSpec } from './spec.ts';
import type { OpenApiDocument } from './types.ts';

/** The OpenAPI document of a service with these environment variables; by default only the required ones. */
export function specFor(environment: Environment = { MONGODB_URL: 'mongodb://localhost' }): OpenApiDocument {
  const result = readApiConfig(environment);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  const { config } = result;
  return createSpec(
    {
      docs: { docsUrl: config.DOCS_URL, baseUrl: config.API_BASE_URL },
      keyPrefix: config.KEY_PREFIX,
      limit: { requests: config.RATE_LIMIT_REQUESTS, windowSeconds: config.RATE_LIMIT_WINDOW_SECONDS },
    },
    createRegistry({ now: () => new Date(), brand: config.BRAND }),
  );
}
