import type { z } from 'zod';
import { errorEnvelopeSchema } from '../http/error-envelope.ts';
import type { Route } from '../http/route.ts';
import { headerComponents } from './headers.ts';
import { description, tags } from './info.ts';
import { toJsonSchema, type JsonSchema } from './json-schema.ts';
import type { OpenApiDocument } from './openapi.ts';
import { ifNoneMatch, operation, responseComponents } from './operation.ts';
import { documentOperation, healthOperation } from './public-operations.ts';
import type { DocumentSettings } from './settings.ts';

/** The OpenAPI 3.1 document of these routes: the schemas that requests are parsed and responses typed by. */
export function createDocument(settings: DocumentSettings, routes: Route[]): OpenApiDocument {
  const { docs, brand, limit } = settings;
  const shown = { docs, isLimited: limit.requests > 0 };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Support Data API',
      version: '1.0.0',
      summary: 'Read-only access to tickets, conversations, messages, channels and Q&As.',
      description: description(settings),
    },
    servers: [{ url: docs.baseUrl ?? '/', description: 'The service that serves this document.' }],
    tags,
    security: [{ apiKey: [] }],
    paths: {
      ...Object.fromEntries(
        routes.map((route) => [templateOf(route.path), { get: operation(shown, route) }]),
      ),
      '/health': { get: healthOperation(docs) },
      '/openapi.json': { get: documentOperation(docs) },
    },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: `${brand}_live_…`,
          description: `An API key of the organization: \`Authorization: Bearer ${brand}_live_…\`.`,
        },
      },
      parameters: { IfNoneMatch: ifNoneMatch },
      headers: headerComponents(),
      responses: responseComponents(shown),
      schemas: schemaComponents([...routes.map(({ response }) => response), errorEnvelopeSchema]),
    },
  };
}

/** `/v1/tickets/:id` → `/v1/tickets/{id}` */
export const templateOf = (path: string): string => path.replace(/:([A-Za-z]+)/g, '{$1}');

function schemaComponents(schemas: z.ZodType[]): Record<string, JsonSchema> {
  const components = schemas.flatMap((schema) => Object.entries(toJsonSchema(schema).components));
  return Object.fromEntries(components.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
