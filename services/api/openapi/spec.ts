import type { z } from 'zod';
import { release } from '../../../shared/runtime/release.ts';
import { errorEnvelopeSchema } from '../http/error-envelope.ts';
import type { Route } from '../http/route.ts';
import { otherError } from './errors.ts';
import { headerComponents, responseHeaders } from './headers.ts';
import { description, type SpecSettings, tags } from './info.ts';
import { type JsonSchema, toOpenSchema } from './json-schema.ts';
import { ifNoneMatch, operationOf, responseComponents } from './operation.ts';
import { healthOperation, specOperation } from './public-operations.ts';
import type { Header, Operation, Parameter, Response, Tag } from './types.ts';

/** An OpenAPI 3.1 document, as far as this service uses it. */
export type OpenApiDocument = {
  /** The version of OpenAPI. */
  openapi: string;
  info: {
    title: string;
    /** The release of the service. */
    version: string;
    summary: string;
    /** The introduction, in Markdown. */
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  /** The headings under which the reference lists the operations. */
  tags: Tag[];
  /** Every operation needs an API key, unless it declares otherwise. */
  security: Record<string, string[]>[];
  /** The operations by the template of their path, such as `/v1/tickets/{id}`. */
  paths: Record<string, { get: Operation }>;
  /** The parts to which operations refer by name. */
  components: {
    securitySchemes: {
      apiKey: { type: 'http'; scheme: 'bearer'; bearerFormat: string; description: string };
    };
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    responses: Record<string, Response>;
    schemas: Record<string, JsonSchema>;
  };
};

/** Creates the document from the schemas that parse requests and type responses. */
export function createSpec(settings: SpecSettings, routes: Route[]): OpenApiDocument {
  const { baseUrl, keyPrefix, clientPackage, limit, traceDays } = settings;
  const isLimited = limit.requests > 0;
  const headersOf = (status: number, isList?: boolean) => responseHeaders(status, isLimited, isList);
  const operationSettings = { baseUrl, clientPackage, headersOf };
  const paths: Record<string, { get: Operation }> = {
    ...Object.fromEntries(
      routes.map((route) => [templateOf(route.path), { get: operationOf(operationSettings, route) }]),
    ),
    '/health': { get: healthOperation },
    '/openapi.json': { get: specOperation },
  };
  const responses: Record<string, Response> = {
    ...responseComponents(operationSettings),
    OtherError: otherError(baseUrl),
  };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Support Data API',
      version: release,
      summary: 'Read-only access to tickets, conversations, messages, channels and Q&As.',
      description: description(settings),
      // As in package.json: no licence is granted.
      license: { name: 'Proprietary', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: baseUrl ?? '/', description: 'The service that returned this document.' }],
    tags,
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: `${keyPrefix}_live_…`,
          description: `An API key of the organization: \`Authorization: Bearer ${keyPrefix}_live_…\`.`,
        },
      },
      parameters: { IfNoneMatch: ifNoneMatch },
      headers: headerComponents(isLimited, traceDays),
      responses,
      schemas: schemaComponents([...routes.map(({ response }) => response), errorEnvelopeSchema]),
    },
  };
}

/** `/v1/tickets/:id` → `/v1/tickets/{id}` */
const templateOf = (path: string): string => path.replace(/:([A-Za-z]+)/g, '{$1}');

function schemaComponents(schemas: z.ZodType[]): Record<string, JsonSchema> {
  const components = schemas.flatMap((schema) => Object.entries(toOpenSchema(schema).components));
  return Object.fromEntries(components.toSorted(([a], [b]) => byCodeUnits(a, b)));
}

/** The order of texts that is the same on every machine. */
function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
