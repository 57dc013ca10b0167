import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';
import { errorCatalogue } from '../http/error-catalogue.ts';
import type { Route } from '../http/route.ts';
import { clientMethod, codeSamples } from './code-samples.ts';
import { commonErrors, errorResponses, type ErrorResponseSettings, otherErrors } from './errors.ts';
import { type JsonSchema, toJsonSchema, toOpenSchema } from './json-schema.ts';
import type { Operation, Parameter, Reference, Response } from './types.ts';

/** The OpenAPI operation of a route. */
export function operationOf(
  settings: ErrorResponseSettings & { clientPackage: string },
  route: Route,
): Operation {
  const { baseUrl, headersOf, clientPackage } = settings;
  const { path, operationId } = route;
  const inPath = parameters('path', route.params);
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    parameters: [...inPath, ...parameters('query', route.query), ifNoneMatchReference],
    responses: {
      200: {
        description: 'The requested resource or page.',
        headers: headersOf(200, 'startingAfter' in route.query.shape),
        content: {
          'application/json': { schema: toOpenSchema(route.response).schema, example: route.example },
        },
      },
      304: {
        description: 'The response has not changed since the version in `If-None-Match`. There is no body.',
        headers: headersOf(304),
      },
      ...errorResponses(settings, route.errors),
      ...commonReferences,
      ...otherErrors,
    },
    'x-client-method': clientMethod(path, operationId),
    'x-codeSamples': codeSamples(
      { baseUrl, clientPackage },
      { path, operationId, exampleId: inPath[0]?.example as string | undefined },
    ),
  };
}

function parameters(place: 'path' | 'query', zodSchema: z.ZodObject): Parameter[] {
  const { properties = {} } = toJsonSchema(zodSchema).schema;
  const fields = Object.entries(properties as Record<string, JsonSchema>);
  return fields.map(([name, field]) => parameterOf(place, name, field));
}

/** In OpenAPI, the description and example of a parameter are next to its schema, not inside it. */
function parameterOf(place: 'path' | 'query', name: string, field: JsonSchema): Parameter {
  const { description, examples, ...schema } = field;
  const [example] = examples ?? [];
  if (!description || !example) throw new Error(`the parameter ${name} lacks a description or an example`);
  const required = place === 'path';
  if (field.type !== 'array') return { name, in: place, required, description, schema, example };
  return { name, in: place, required, style: 'form', explode: true, description, schema, example };
}

export const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier response. If the response has not changed, the API returns 304 without a body.',
  schema: { type: 'string' },
  example: 'W/"5Qk2Yx0hT1mXbJcVd0nG3A"',
};
export const ifNoneMatchReference: Reference = { $ref: '#/components/parameters/IfNoneMatch' };

/** The error responses that all endpoints below `/v1` list. */
export function responseComponents(settings: ErrorResponseSettings): Record<string, Response> {
  const components: Record<string, Response> = {};
  for (const [status, response] of Object.entries(errorResponses(settings, commonErrors))) {
    components[responseComponentOf(status)] = response;
  }
  return components;
}

/** 429 → `TooManyRequests` */
export const responseComponentOf = (status: string) =>
  (STATUS_CODES[status] ?? status).replace(/[^A-Za-z]/g, '');

const commonReferences: Record<string, Reference> = {};
for (const code of commonErrors) {
  const status = String(errorCatalogue[code].status);
  commonReferences[status] = { $ref: `#/components/responses/${responseComponentOf(status)}` };
}
