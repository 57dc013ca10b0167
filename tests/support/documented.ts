import type { Header, OpenApiDocument, Reference, Response } from '../../services/api/openapi/types.ts';
import { errorResponse } from '../../services/api/openapi/errors.ts';
import { responseComponentOf } from '../../services/api/openapi/operation.ts';
import { responseHeaders } from '../../services/api/openapi/headers.ts';
import { toJsonSchema } from '../../services/api/openapi/json-schema.ts';
import { errorEnvelopeSchemaOf } from '../../services/api/http/error-envelope.ts';
import { documentSchemas, type Faults } from './document-schemas.ts';

export type Exchange = {
  method: string;
  /** As asked for, with the query. */
  path: string;
  status: number;
  headers: Iterable<[string, string]>;
  text: string;
};

/** Fails, and says how, when an answer is not as the document says. */
export type HoldToDocument = (exchange: Exchange) => void;

/** Headers of the transport, which the document leaves to HTTP. */
const transport = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

type Documented = { pointer: string; response: Response };

/**
 * Holds answers to the document, strictly: the status is one of that path and method, the body is what the
 * schema says and no more, every header that is promised is there, and every header that is there is documented.
 */
export function documented(published: OpenApiDocument): HoldToDocument {
  const document = withUnlisted(published);
  const faults = documentSchemas(document);
  const find = finder(document);
  return (exchange) => {
    const found = find(exchange);
    const wrong = found
      ? [...headerFaults(found, faults, document, exchange), ...bodyFaults(found, faults, exchange)]
      : ['no such response is documented'];
    if (wrong.length === 0) return;
    const { method, path, status, text } = exchange;
    throw new Error(`${method} ${path} → ${status}\n${wrong.join('\n')}\n${text.slice(0, 500)}`);
  };
}

/**
 * OpenAPI has no room for what any path answers to OPTIONS, nor for paths that it does not list, so the document
 * tells of both in prose. Here they are responses as well, to hold answers to.
 */
function withUnlisted(document: OpenApiDocument): OpenApiDocument {
  const { components } = document;
  const isLimited = 'RateLimitLimit' in components.headers;
  const described = {
    docs: { docsUrl: undefined, baseUrl: undefined },
    headersOf: (status: number) => responseHeaders(status, isLimited),
  };
  const routeNotFound = errorEnvelopeSchemaOf(['route_not_found']);
  return {
    ...document,
    components: {
      ...components,
      responses: {
        ...components.responses,
        RouteNotFound: errorResponse(described, 404, ['route_not_found']),
        Methods: { description: 'The methods that are served.', headers: responseHeaders(204, isLimited) },
      },
      schemas: { ...components.schemas, ...toJsonSchema(routeNotFound).components },
    },
  };
}

const unlisted: Record<number, string> = { 204: 'Methods', 404: 'RouteNotFound' };

/** HEAD is documented with GET. */
function finder(document: OpenApiDocument) {
  const { paths, components } = document;
  const patterns = Object.keys(paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  return ({ method, path, status }: Exchange): Documented | undefined => {
    const [bare = ''] = path.split('?');
    const template = patterns.find(({ pattern }) => pattern.test(bare))?.template;
    if (template && !(method === 'OPTIONS' && status === 204)) {
      const response = paths[template]?.get.responses[status];
      const pointer = `#/paths/${escaped(template)}/get/responses/${status}`;
      if (!response) return undefined;
      const found = resolved<Response>(
        response,
        pointer,
        (ref) => components.responses[lastOf(ref)] as Response,
      );
      return { pointer: found.pointer, response: found.value };
    }
    const name = unlisted[status] ?? responseComponentOf(String(status));
    const response = components.responses[name];
    return response && { pointer: `#/components/responses/${name}`, response };
  };
}

const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

function resolved<T extends object>(value: T | Reference, pointer: string, at: (ref: string) => T) {
  return '$ref' in value ? { pointer: value.$ref, value: at(value.$ref) } : { pointer, value };
}

function* headerFaults(
  { pointer, response }: Documented,
  faults: Faults,
  { components }: OpenApiDocument,
  exchange: Exchange,
): Generator<string> {
  const given = new Map([...exchange.headers].map(([name, value]) => [name.toLowerCase(), value]));
  for (const [name, declared] of Object.entries(response.headers)) {
    const at = `${pointer}/headers/${name}`;
    const header = resolved<Header>(declared, at, (ref) => components.headers[lastOf(ref)] as Header);
    const value = given.get(name.toLowerCase());
    given.delete(name.toLowerCase());
    if (value === undefined) {
      if (header.value.required) yield `the header ${name} is missing`;
      continue;
    }
    const isNumber = header.value.schema.type === 'integer' && /^\d+$/.test(value);
    const fault = faults(`${header.pointer}/schema`, isNumber ? Number(value) : value);
    if (fault) yield `the header ${name}: ${value} ${fault}`;
  }
  for (const name of given.keys()) {
    if (!transport.has(name)) yield `the header ${name} is not documented`;
  }
}

function* bodyFaults(
  { pointer, response }: Documented,
  faults: Faults,
  { method, headers, text }: Exchange,
): Generator<string> {
  if (method === 'HEAD' || !response.content) {
    if (text !== '') yield 'there is a body where none is documented';
    return;
  }
  const type = new Map(headers).get('content-type');
  if (type !== 'application/json; charset=utf-8') yield `the type is ${type}`;
  const fault = faults(`${pointer}/content/application~1json/schema`, JSON.parse(text));
  if (fault) yield fault;
}

const lastOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
