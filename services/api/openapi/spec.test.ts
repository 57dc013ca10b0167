import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mustRun } from '../../../infra/dev-servers/native/run.ts';
import { documentSchemas } from '../../../tests/support/document-schemas.ts';
import { misordered } from '../../../tests/support/field-order.ts';
import { errorCatalogue } from '../http/error-catalogue.ts';
import { errorCodes } from '../http/error-envelope.ts';
import type { MediaType, Response } from './types.ts';
import { specFor } from './write.ts';

const document = specFor();

type Node = Record<string, unknown>;
/** Every object of the document with its JSON pointer. */
function nodesOf(value: unknown, pointer = '#'): [string, Node][] {
  if (typeof value !== 'object' || value === null) return [];
  const found: [string, Node][] = Array.isArray(value) ? [] : [[pointer, value as Node]];
  for (const [key, child] of Object.entries(value)) {
    const escapedKey = key.replaceAll('~', '~0').replaceAll('/', '~1');
    found.push(...nodesOf(child, `${pointer}/${escapedKey}`));
  }
  return found;
}
const nodes = nodesOf(document);
/** Objects in examples are not schemas. */
const isSchema = ([pointer]: [string, Node]) => !/\/(example|examples|value)(\/|$)/.test(pointer);
const schemas = nodes.filter(isSchema);

test('openapi.json is up to date; `npm run openapi` writes it', () => {
  expect(readFileSync('openapi.json', 'utf8')).toBe(`${JSON.stringify(document, null, 2)}\n`);
});

test("the document is valid OpenAPI 3.1 without a warning of Redocly's linter, with and without a rate limit", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  const unlimited = specFor({ MONGODB_URL: 'mongodb://localhost', RATE_LIMIT_REQUESTS: '0' });
  for (const linted of [document, unlimited]) {
    const path = join(folder, 'openapi.json');
    writeFileSync(path, JSON.stringify(linted));
    expect(await mustRun(process.execPath, ['tests/support/lint-openapi.mjs', path])).toBe('');
  }
  rmSync(folder, { recursive: true });
});

test('each tag of an operation has a description, and each description a tag', () => {
  const tags = Object.values(document.paths).flatMap(({ get }) => get.tags);
  expect(new Set(document.tags.map(({ name }) => name))).toEqual(new Set(tags));
});

describe('the document is open to later releases', () => {
  const isParameter = (pointer: string) => pointer.includes('/parameters/');

  test('the document allows fields and values of later releases, in words that generators of clients take', () => {
    for (const [pointer, node] of schemas) {
      const isClosedEnum = node.enum !== undefined && !isParameter(pointer);
      const isClosedObject = node.type === 'object' && node.additionalProperties !== true;
      const isStrictDate = node.format === 'date-time' && node.pattern !== undefined;
      const hasOneType = node.type === 'null' && !/anyOf\/\d+$/.test(pointer);
      expect({ pointer, isClosedEnum, isClosedObject, isStrictDate, hasOneType }).toEqual({
        pointer,
        isClosedEnum: false,
        isClosedObject: false,
        isStrictDate: false,
        hasOneType: false,
      });
    }
    const open = schemas.filter(([, node]) => node['x-extensible-enum']);
    expect(open.length).toBeGreaterThan(20);
    for (const [, node] of open) {
      expect(node.description).toMatch(/Later releases may add values\.$/);
      for (const value of node['x-extensible-enum'] as string[]) expect(node.description).toContain(value);
    }
  });

  test('the document lists the statuses that a caller can cause, and one response for all others', () => {
    const statusesOf = (path: string) => Object.keys(document.paths[path]?.get.responses ?? {});
    expect(statusesOf('/v1/tickets')).toEqual(['200', '304', '401', '422', '429', '4XX', '5XX']);
    expect(statusesOf('/v1/tickets/{id}')).toEqual(['200', '304', '401', '404', '422', '429', '4XX', '5XX']);
    expect(statusesOf('/health')).toEqual(['200', '4XX', '5XX']);
    const { description } = document.components.responses.OtherError as Response;
    for (const code of ['https_required', 'internal_error', 'service_unavailable'])
      expect(description).toContain(code);
  });

  test('the document names the member of each union and each value of sort', () => {
    for (const [, { oneOf, discriminator }] of schemas.filter(([, node]) => node.oneOf)) {
      const { mapping } = discriminator as { mapping: Record<string, string> };
      const members = (oneOf as { $ref: string }[]).map(({ $ref }) => $ref);
      expect(Object.values(mapping).sort()).toEqual(members.sort());
    }
    for (const [pointer, node] of schemas) {
      if (!Array.isArray(node.enum) || node['x-enum-varnames']) continue;
      const unnamed = (node.enum as string[]).filter((value) => !/^[a-z_]+$/.test(value));
      expect({ pointer, unnamed }).toEqual({ pointer, unnamed: [] });
    }
  });
});

test('every field has a description', () => {
  const undescribed: string[] = [];
  for (const [pointer, { properties = {} }] of schemas) {
    for (const [name, field] of Object.entries(properties as Record<string, Node>)) {
      if (!field.description && !field.$ref) undescribed.push(`${pointer}/${name}`);
    }
  }
  expect(undescribed).toEqual([]);
  const components = Object.entries(document.components.schemas);
  const silent = components.filter(([, { description }]) => typeof description !== 'string');
  expect(silent.map(([name]) => name)).toEqual([]);
});

test('every example matches its schema, with its fields in that order', () => {
  const errorsAt = documentSchemas(document);
  const withoutExample: string[] = [];
  let checked = 0;
  for (const [pointer, { schema, example, examples }] of nodes as [string, Partial<MediaType>][]) {
    if (schema === undefined) continue;
    const values = Object.values(examples ?? {}).map(({ value }) => value);
    if (example !== undefined) values.push(example);
    if (values.length === 0) withoutExample.push(pointer);
    for (const value of values) {
      const found = errorsAt(`${pointer}/schema`, value);
      expect({ pointer, found }).toEqual({ pointer, found: null });
      expect([...misordered(document.components.schemas, schema, value, pointer)]).toEqual([]);
      checked += 1;
    }
  }
  expect(checked).toBeGreaterThan(50);
  expect(withoutExample.filter((pointer) => !pointer.includes('~1openapi.json'))).toEqual([]);
});

test('patterns use only the expressions that JSON Schema recommends for all languages', () => {
  const patterns = schemas.flatMap(([, { pattern }]) => (typeof pattern === 'string' ? [pattern] : []));
  expect(patterns.length).toBeGreaterThan(10);
  // An escape other than that of a character of expressions, or a group with a question mark.
  expect(patterns.filter((pattern) => /\\[^.\\[\](){}*+?^$|/]|\(\?/.test(pattern))).toEqual([]);
});

test('every error code below /v1 has an example in a response with its status', () => {
  const examples: { code: string; status: string }[] = [];
  for (const [pointer, node] of nodes) {
    const { content } = node as Partial<Response>;
    const status = pointer.split('/').at(-1) ?? '';
    for (const code of Object.keys(content?.['application/json']?.examples ?? {}))
      examples.push({ code, status });
  }
  const exampleCodes = examples.map(({ code }) => code);
  const codes = errorCodes.filter((code) => code !== 'route_not_found');
  expect(codes.filter((code) => !exampleCodes.includes(code))).toEqual([]);
  for (const { code, status } of examples.filter((example) => /^\d+$/.test(example.status))) {
    const catalogued = errorCatalogue[code as keyof typeof errorCatalogue].status;
    expect({ code, status: Number(status) }).toEqual({ code, status: catalogued });
  }
});

test('the document contains the settings', () => {
  const configured = specFor({
    MONGODB_URL: 'mongodb://localhost',
    API_BASE_URL: 'https://api.acme.test',
    KEY_PREFIX: 'acme',
    RATE_LIMIT_REQUESTS: '0',
    REQUEST_TRACE_DAYS: '7',
  });
  expect(configured.servers[0]?.url).toBe('https://api.acme.test');
  expect(configured.info.description).toContain('acme_live_');
  expect(configured.components.headers['RequestId']?.description).toContain('7 days');
  // Only a key with a limit of its own has these headers.
  const { headers = {} } = configured.paths['/v1/tickets']?.get.responses[200] as Response;
  expect(headers['RateLimit-Limit']).toMatchObject({ required: false });
  expect(JSON.stringify(configured.paths)).toContain('https://api.acme.test/docs/errors/invalid_cursor');
});
