import type { z } from 'zod';
import { toJsonSchema, type JsonSchema } from './json-schema.ts';
import type { Parameter } from './types.ts';

/** The query parameters of a route. */
export const queryParameters = (query: z.ZodObject): Parameter[] =>
  fieldsOf(query).map(([name, field]) => ({
    name,
    in: 'query',
    required: false,
    ...(field.type === 'array' ? { style: 'form', explode: true } : {}),
    ...described(name, field),
  }));

/** The path parameters of a route. */
export const pathParameters = (params: z.ZodObject): Parameter[] =>
  fieldsOf(params).map(([name, field]) => ({
    name,
    in: 'path',
    required: true,
    ...described(name, field),
  }));

const fieldsOf = (object: z.ZodObject): [string, JsonSchema][] =>
  Object.entries(toJsonSchema(object).schema.properties ?? {}) as [string, JsonSchema][];

/** In OpenAPI, the description and example of a parameter are next to its schema, not inside it. */
function described(name: string, { description, examples, ...schema }: JsonSchema) {
  if (!description || !examples?.[0])
    throw new Error(`the parameter ${name} lacks a description or an example`);
  return { description, schema, example: examples[0] };
}
