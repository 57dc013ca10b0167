import type { Header, OpenApiDocument, Reference, Response } from '../../services/api/openapi/types.ts';
import { errorResponse } from '../../services/api/openapi/errors.ts';
import { responseComponentOf } from '../../services/api/openapi/operation.ts';
import { responseHeaders } from '../../services/api/openapi/headers.ts';
import { documentSchemas, type Validate } from './document-schemas.ts';

type Exchange = {
  method: string;
  /** The requested path, with the query. */
  path: string;
  status: number;
  headers: Iterable<[string, string]>;
  text: string;
};

/** Throws an error that names each difference between an answer and the document. */
export type HoldToDocument = (exchange: Exchange) => void;

/** Transport headers, which the document does not describe. */
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
 * Holds answers to the document, strictly. The path and method must document the status. The body must match the
 * schema, without further fields. Every required header must be present, and every present header documented.
 */
export function documented(published: OpenApiDocument): HoldToDocument {
  const document = withUnlisted(published);
  const validate = documentSchemas(document);
  const find = finder(document);
  return (exchange) => {
    const found = find(exchange);
    const errors = found
      ? [...headerErrors(found, validate, document, exchange), ...bodyErrors(found, validate, exchange)]
      : ['no such response is documented'];
    if (errors.length === 0) return;
    const { method, path, status, text } = exchange;
    throw new Error(`${method} ${path} → ${status}\n${errors.join('\n')}\n${text.slice(0, 500)}`);
  };
}

/**
 * OpenAPI cannot describe the answer of every path to OPTIONS, nor of unlisted paths: the document describes both in
 * prose. Here they are responses too, so that their answers can be checked.
 */
function withUnlisted(document: OpenApiDocument): OpenApiDocument {
  const { components } = document;
  const isLimited = 'RateLimitLimit' in components.headers;
  const described = {
    docs: { docsUrl: undefined, baseUrl: undefined },
    headersOf: (status: number) => responseHeaders(status, isLimited),
  };
  return {
    ...document,
    components: {
      ...components,
      responses: {
        ...components.responses,
        RouteNotFound: errorResponse(described, 404, ['route_not_found']),
        Methods: { description: 'The methods that are served.', headers: responseHeaders(204, isLimited) },
      },
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

function resolved<T extends object>(value: T | Reference, pointer: string, find: (ref: string) => T) {
  return '$ref' in value ? { pointer: value.$ref, value: find(value.$ref) } : { pointer, value };
}

function* headerErrors(
  { pointer, response }: Documented,
  validate: Validate,
  { components }: OpenApiDocument,
  exchange: Exchange,
): Generator<string> {
  const received = new Map([...exchange.headers].map(([name, value]) => [name.toLowerCase(), value]));
  for (const [name, declared] of Object.entries(response.headers)) {
    const declaredAt = `${pointer}/headers/${name}`;
    const header = resolved<Header>(declared, declaredAt, (ref) => components.headers[lastOf(ref)] as Header);
    const value = received.get(name.toLowerCase());
    received.delete(name.toLowerCase());
    if (value === undefined) {
      if (header.value.required) yield `the header ${name} is missing`;
      continue;
    }
    const isNumber = header.value.schema.type === 'integer' && /^\d+$/.test(value);
    const error = validate(`${header.pointer}/schema`, isNumber ? Number(value) : value);
    if (error) yield `the header ${name}: ${value} ${error}`;
  }
  for (const name of received.keys()) {
    if (!transport.has(name)) yield `the header ${name} is not documented`;
  }
}

function* bodyErrors(
  { pointer, response }: Documented,
  validate: Validate,
  { method, headers, text }: Exchange,
): Generator<string> {
  if (method === 'HEAD' || !response.content) {
    if (text !== '') yield 'there is a body where none is documented';
    return;
  }
  const type = new Map(headers).get('content-type');
  if (type !== 'application/json; charset=utf-8') yield `the type is ${type}`;
  const body = JSON.parse(text) as { error?: { code: string } };
  const error = validate(`${pointer}/content/application~1json/schema`, body);
  if (error) yield error;
  const { examples } = response.content['application/json'];
  if (examples && !(String(body.error?.code) in examples)) yield 'the code is not documented for this status';
}

const lastOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
