import { writeFileSync } from 'node:fs';
import type { Environment } from '../../../shared/runtime/config.ts';
import { readApiConfig } from '../config.ts';
import { createRoutes } from '../resources/routes.ts';
import { specSettings } from './info.ts';
import { createSpec, type OpenApiDocument } from './spec.ts';

/** The OpenAPI document of a service with these environment variables, by default only the required ones. */
export function specFor(environment: Environment = { MONGODB_URL: 'mongodb://localhost' }): OpenApiDocument {
  const result = readApiConfig(environment);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  const { config } = result;
  return createSpec(specSettings(config), createRoutes({ now: () => new Date(), brand: config.BRAND }));
}

/** `npm run openapi` writes the document of the default configuration. */
if (process.argv[1] === import.meta.filename) {
  writeFileSync('openapi.json', `${JSON.stringify(specFor(), null, 2)}\n`);
}
