import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { errorCatalogue, type ErrorCode } from '../../services/api/http/error-catalogue.ts';
import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import { responseComponentOf } from '../../services/api/openapi/operation.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';
import type { Header, MediaType, Reference, Response } from '../../services/api/openapi/types.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { documentSchemas, type Validate } from './document-schemas.ts';
import { misordered } from './field-order.ts';

type Exchange = {
  method: string;
  /** The requested path, with the query. */
  path: string;
  status: number;
  headers: Iterable<[string, string]>;
  text: string;
};

/** Throws an error that names each difference between an answer and the OpenAPI document. */
export type AssertDocumented = (exchange: Exchange) => void;

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

/** The response that the document describes, and where. `strict` is the schema of its body in this release. */
type Documented = { pointer: string; response: Response; strict: z.ZodType | undefined };

/**
 * Creates a check of answers against the document and, strictly, against the schemas of this release. The path and
 * method must document the status. The body must match the schema, without further fields or values, and with its
 * fields in that order. Every required header must be present, and the document must describe every present header.
 */
export function createAssertDocumented(published: OpenApiDocument): AssertDocumented {
  const document = withUnlisted(published);
  const validate = documentSchemas(document);
  const find = finder(document);
  return (exchange) => {
    const found = find(exchange);
    const errors = found
      ? [
          ...headerErrors(found, validate, document, exchange),
          ...bodyErrors(found, validate, document, exchange),
        ]
      : ['no such response is documented'];
    if (errors.length === 0) return;
    const { method, path, status, text } = exchange;
    throw new Error(`${method} ${path} → ${status}\n${errors.join('\n')}\n${text.slice(0, 500)}`);
  };
}

/** No operation lists these statuses: the document has one response for all of them, or describes them in prose. */
const unlisted = [204, 400, 403, 404, 405, 408, 414, 431, 500, 503];
const nameOf = (status: number, isPublic: boolean) => `${isPublic ? 'Public' : 'Unlisted'}${status}`;

function withUnlisted(document: OpenApiDocument): OpenApiDocument {
  const { components } = document;
  const responses = { ...components.responses };
  for (const status of unlisted) {
    for (const isPublic of [true, false])
      responses[nameOf(status, isPublic)] = unlistedResponse(components, status, isPublic);
  }
  return { ...document, components: { ...components, responses } };
}

/** The HTTP parser answers with these statuses. It knows no watermark, and compresses nothing. */
const ofParser = [400, 408, 431];
const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'];

function unlistedResponse(
  { headers, responses }: OpenApiDocument['components'],
  status: number,
  isPublic: boolean,
): Response {
  const described: Response['headers'] = {};
  const add = (names: string[], isRequired = true) => {
    for (const name of names) {
      const header = headers[name.replaceAll('-', '')];
      if (header) described[name] = { ...header, required: isRequired && header.required };
    }
  };
  const addFixed = (name: string, value: string, required: boolean) => {
    described[name] = { description: '', required, schema: { const: value }, example: value };
  };
  add(['Request-Id', 'Cache-Control', 'X-Content-Type-Options', 'Strict-Transport-Security']);
  add(['Vary'], !ofParser.includes(status));
  if (isPublic) {
    addFixed('Access-Control-Allow-Origin', '*', false);
  } else {
    add(['Data-As-Of'], ![204, ...ofParser].includes(status));
    const hasLimit = [204, 400, 404, 405, 500, 503].includes(status);
    if (hasLimit) add(limits, [404, 405].includes(status));
  }
  if (status === 503) add(['Retry-After']);
  if ([204, 405].includes(status)) addFixed('Allow', 'GET, HEAD, OPTIONS', true);
  if (status === 204) return { description: '', headers: described };
  const { content } = responses.OtherError as Required<Response>;
  return { description: '', headers: described, content };
}

/** Finds the response that the document describes for an exchange. For HEAD it is the response of GET. */
function finder(document: OpenApiDocument) {
  const { paths, components } = document;
  const routes = createRoutes({ now: () => new Date(), brand: 'svc' });
  const patterns = Object.keys(paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  const componentOf = (ref: string) => components.responses[lastOf(ref)] as Response;
  /** The response that the operation of a path lists. */
  const listedResponse = (template: string, status: number) => {
    const listed = paths[template]?.get.responses[status];
    if (!listed) return undefined;
    const pointer = `#/paths/${escaped(template)}/get/responses/${status}`;
    const found = resolved<Response>(listed, pointer, componentOf);
    return { pointer: found.pointer, response: found.value };
  };
  /** The response with a status that the operation does not list. */
  const sharedResponse = (status: number, isPublic: boolean) => {
    const name = unlisted.includes(status) ? nameOf(status, isPublic) : responseComponentOf(String(status));
    const response = components.responses[name];
    return response && { pointer: `#/components/responses/${name}`, response };
  };
  return ({ method, path, status }: Exchange): Documented | undefined => {
    const [bare = ''] = path.split('?');
    const template = patterns.find(({ pattern }) => pattern.test(bare))?.template;
    const route = routes.find((candidate) => candidate.path.replace(/:(\w+)/g, '{$1}') === template);
    const mayBeListed = template !== undefined && method !== 'OPTIONS';
    const isPublic = template !== undefined && !route;
    const found =
      (mayBeListed ? listedResponse(template, status) : undefined) ?? sharedResponse(status, isPublic);
    return found && { ...found, strict: status >= 400 ? errorEnvelopeSchema : route?.response };
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
  { pointer, response, strict }: Documented,
  validate: Validate,
  document: OpenApiDocument,
  { method, status, headers, text }: Exchange,
): Generator<string> {
  const content = response.content?.['application/json'];
  if (method === 'HEAD' || !content) {
    if (text !== '') yield 'there is a body where none is documented';
    return;
  }
  const type = new Map(headers).get('content-type');
  if (type !== 'application/json; charset=utf-8') yield `the type is ${type}`;
  const body = JSON.parse(text) as { error?: { code: ErrorCode } };
  const error = validate(`${pointer}/content/application~1json/schema`, body);
  if (error) yield error;
  if (strict) yield* strictErrors(strict, body);
  if (!error) yield* misordered(document.components.schemas, content.schema, body);
  if (body.error) yield* codeErrors(body.error.code, status, content);
}

function* strictErrors(strict: z.ZodType, body: unknown): Generator<string> {
  const parsed = strict.safeParse(body);
  if (parsed.error) yield z.prettifyError(parsed.error);
  // A schema that is not strict accepts other fields, and drops them from `data`.
  else if (!isDeepStrictEqual(parsed.data, body)) yield 'its schema does not have every field';
}

/** The document lists the codes of a status as its examples, except for the statuses that no operation lists. */
function* codeErrors(code: ErrorCode, status: number, { examples }: MediaType): Generator<string> {
  if (errorCatalogue[code].status !== status) yield `${code} has another status`;
  if (unlisted.includes(status) || !examples) return;
  if (!(code in examples)) yield 'the code is not documented for this status';
}

const lastOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
