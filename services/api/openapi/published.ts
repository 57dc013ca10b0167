import { errorCatalogue } from '../http/error-catalogue.ts';
import { errorCodes, type DocsLocation } from '../http/error-envelope.ts';
import { errorResponse } from './errors.ts';
import type { JsonSchema } from './json-schema.ts';
import type { OpenApiDocument, Operation, Response } from './types.ts';

/** An operation lists these responses alone. Every other one is an error of any path, whatever the caller asks for. */
const listedStatuses = ['200', '304', '401', '404', '422', '429'];

/**
 * The document as clients get it: what docs/guides/versioning.md allows to change without notice is open. Objects may
 * have further fields, and fields further values. Errors that no parameter causes share one response. The strict document
 * describes exactly what this release answers, and the tests hold responses to it.
 */
export function publishedSpec(strict: OpenApiDocument, docs: DocsLocation): OpenApiDocument {
  const paths = Object.entries(strict.paths).map(([path, { get }]) => [path, { get: withListed(get) }]);
  const { responses, headers, ...components } = strict.components;
  const published = {
    ...strict,
    paths: Object.fromEntries(paths) as OpenApiDocument['paths'],
    components: {
      ...components,
      headers: { ...headers },
      responses: { ...responses, OtherError: otherError(docs) },
    },
  };
  prune(published, 'responses');
  prune(published, 'headers');
  return opened(published) as OpenApiDocument;
}

const withListed = ({ responses, ...operation }: Operation): Operation => ({
  ...operation,
  responses: {
    ...Object.fromEntries(Object.entries(responses).filter(([status]) => listedStatuses.includes(status))),
    '4XX': { $ref: '#/components/responses/OtherError' },
    '5XX': { $ref: '#/components/responses/OtherError' },
  },
});

function otherError(docs: DocsLocation): Response {
  const codes = errorCodes.filter((code) => !listedStatuses.includes(String(errorCatalogue[code].status)));
  const named = codes.map((code) => `${errorCatalogue[code].status} \`${code}\``);
  const headersOf = () => ({ 'Request-Id': { $ref: '#/components/headers/RequestId' } });
  return {
    ...errorResponse({ docs, headersOf }, 500, codes),
    description: `Any other error, such as ${named.join(', ')}.`,
  };
}

/** Removes the components that nothing refers to. */
function prune({ components, ...document }: OpenApiDocument, section: 'responses' | 'headers'): void {
  const text = JSON.stringify([document, components]);
  for (const name of Object.keys(components[section])) {
    if (!text.includes(`"#/components/${section}/${name}"`)) delete components[section][name];
  }
}

/** Requests are parsed strictly, and an example is no schema. */
const closedKeys = ['parameters', 'example', 'examples'];

function opened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(opened);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(openSchema(value as JsonSchema));
  return Object.fromEntries(
    members.map(([key, member]) => [key, closedKeys.includes(key) ? member : opened(member)]),
  );
}

/**
 * Generated clients refuse a value that an `enum` lacks, and a date with a pattern. Those of OpenAPI Generator refuse
 * undeclared fields unless the schema says `additionalProperties: true`.
 */
function openSchema({ additionalProperties, enum: values, pattern, ...schema }: JsonSchema): object {
  return {
    ...schema,
    ...(additionalProperties !== undefined && { additionalProperties: true }),
    ...(pattern !== undefined && schema.format !== 'date-time' && { pattern }),
    ...(values && { description: openDescription(schema.description, values), 'x-extensible-enum': values }),
  };
}

function openDescription(description = '', values: unknown[]): string {
  const quoted = values.map((value) => `\`${String(value)}\``);
  const isListed = quoted.every((value) => description.includes(value));
  return `${description}${isListed ? '' : ` Now ${quoted.join(', ')}.`} Later releases may add values.`.trim();
}
