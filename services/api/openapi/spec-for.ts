import { readApiConfig } from '../config.ts';
import type { Environment } from '../../../shared/runtime/config.ts';
import { createRoutes } from '../resources/routes.ts';
import { createSpec } from './spec.ts';
import { specSettings } from './info.ts';
import type { OpenApiDocument } from './types.ts';

/** The OpenAPI document of a service with these environment variables; by default only the required ones. */
export function specFor(environment: Environment = { MONGODB_URL: 'mongodb://localhost' }): OpenApiDocument {
  const result = readApiConfig(environment);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  const { config } = result;
  const routes = createRoutes({ now: () => new Date(), brand: config.BRAND });
  return createSpec(specSettings(config), routes);
}
