import { writeFileSync } from 'node:fs';
import { readApiConfig } from '../config.ts';
import type { Environment } from '../../../shared/runtime/config.ts';
import { createRoutes } from '../resources/routes.ts';
import { createSpec } from './spec.ts';
import { specSettings } from './info.ts';
import { publishedSpec } from './published.ts';
import type { OpenApiDocument } from './types.ts';

/**
 * The OpenAPI documents of a service with these environment variables, by default only the required ones: the strict
 * one, and the one that it publishes.
 */
export function specFor(environment: Environment = { MONGODB_URL: 'mongodb://localhost' }): {
  strict: OpenApiDocument;
  published: OpenApiDocument;
} {
  const result = readApiConfig(environment);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  const { config } = result;
  const settings = specSettings(config);
  const strict = createSpec(settings, createRoutes({ now: () => new Date(), brand: config.BRAND }));
  return { strict, published: publishedSpec(strict, settings.docs) };
}

/** `npm run openapi` writes the published document of the default configuration. */
if (process.argv[1] === import.meta.filename) {
  writeFileSync('openapi.json', `${JSON.stringify(specFor().published, null, 2)}\n`);
}
