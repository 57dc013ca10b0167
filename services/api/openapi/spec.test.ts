import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mustRun, run } from '../../../infra/dev-servers/native/run.ts';
import { documentSchemas } from '../../../tests/support/document-schemas.ts';
import { errorCodes } from '../http/error-envelope.ts';
import { errorCatalogue } from '../http/error-catalogue.ts';
import { createRoutes } from '../resources/routes.ts';
import { specFor } from './spec-for.ts';
import { createSpec } from './spec.ts';
import type { MediaType, Response } from './types.ts';

const document = specFor();

type Node = Record<string, unknown>;
/** Every object of the document with its JSON pointer. */
function nodesOf(value: unknown, pointer = '#'): [string, Node][] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, child]) =>
    nodesOf(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
  return Array.isArray(value) ? below : [[pointer, value as Node], ...below];
}
const nodes = nodesOf(document);
/** Objects in examples are not schemas. */
const schemas = nodes.filter(([pointer]) => !/\/(example|examples|value)(\/|$)/.test(pointer));

test('openapi.json is up to date; `npm run openapi` writes it', () => {
  expect(JSON.parse(readFileSync('openapi.json', 'utf8'))).toEqual(JSON.parse(JSON.stringify(document)));
});

test('it is valid OpenAPI 3.1', async () => {
  expect(await run('node_modules/.bin/validate-api', ['openapi.json'])).toMatchObject({ ok: true });
});

test("the recommended rules of Redocly's linter report nothing, with and without a rate limit", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  const unlimited = specFor({ MONGODB_URL: 'mongodb://localhost', RATE_LIMIT_REQUESTS: '0' });
  for (const linted of [document, unlimited]) {
    const path = join(folder, 'openapi.json');
    writeFileSync(path, JSON.stringify(linted));
    expect(await mustRun(process.execPath, ['tests/support/lint-openapi.mjs', path])).toBe('');
  }
  rmSync(folder, { recursive: true });
});

test('it has the licence of the package', () => {
  const { license } = JSON.parse(readFileSync('package.json', 'utf8')) as { license: string };
  expect(document.info.license.identifier).toBe(`LicenseRef-${license}`);
});

test('no object allows undeclared fields, except the document itself', () => {
  const open = schemas.filter(([, node]) => node.type === 'object' && node.additionalProperties !== false);
  expect(open.map(([pointer]) => pointer).filter((pointer) => !pointer.includes('~1openapi.json'))).toEqual(
    [],
  );
});

test('every field is described', () => {
  const silent = schemas.flatMap(([pointer, node]) =>
    Object.entries((node.properties ?? {}) as Record<string, Node>)
      .filter(([, field]) => !field.description && !field.$ref)
      .map(([name]) => `${pointer}/${name}`),
  );
  expect(silent).toEqual([]);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    expect([name, schema.description]).toEqual([name, expect.any(String)]);
  }
});

test('every reference has a target', () => {
  const known = new Set(nodes.map(([pointer]) => pointer));
  const lost = nodes
    .map(([, { $ref }]) => $ref)
    .filter((ref) => ref !== undefined && !known.has(ref as string));
  expect(lost).toEqual([]);
});

test('every example matches its schema', () => {
  const errorsAt = documentSchemas(document);
  let checked = 0;
  for (const [pointer, { schema, example, examples }] of nodes as [string, Partial<MediaType>][]) {
    if (schema === undefined) continue;
    const named = Object.values(examples ?? {}).map(({ value }) => value);
    const values = [...(example === undefined ? [] : [example]), ...named];
    if (!pointer.includes('~1openapi.json')) expect([pointer, values.length]).not.toEqual([pointer, 0]);
    for (const value of values) {
      const isNumber = schema.type === 'integer' && typeof value === 'string';
      const found = errorsAt(`${pointer}/schema`, isNumber ? Number(value) : value);
      expect([pointer, found]).toEqual([pointer, null]);
      checked += 1;
    }
  }
  expect(checked).toBeGreaterThan(100);
});

test('every code of the catalogue is an example of a response with its status, except the code for other paths', () => {
  const examples = nodes.flatMap(([pointer, node]) =>
    Object.entries(((node as Partial<Response>).content?.['application/json']?.examples ?? {}) as Node).map(
      ([code]) => ({ code, status: pointer.split('/').at(-1) }),
    ),
  );
  for (const code of errorCodes.filter((each) => each !== 'route_not_found')) {
    expect(examples.map((each) => each.code)).toContain(code);
  }
  for (const { code, status } of examples.filter((each) => /^\d+$/.test(each.status ?? ''))) {
    expect([code, errorCatalogue[code as keyof typeof errorCatalogue].status]).toEqual([
      code,
      Number(status),
    ]);
  }
});

test('it contains the settings', () => {
  const registry = createRoutes({ now: () => new Date(), brand: 'acme' });
  const settings = {
    docs: { docsUrl: undefined, baseUrl: 'https://api.acme.test' },
    keyPrefix: 'acme',
    limit: { requests: 0, windowSeconds: 60 },
    traceDays: 7,
  };
  const configured = createSpec(settings, registry);
  expect(configured.servers[0]?.url).toBe('https://api.acme.test');
  expect(configured.info.description).toContain('acme_live_');
  expect(configured.components.headers['RequestId']?.description).toContain('7 days');
  expect(JSON.stringify(configured.paths)).not.toContain('RateLimit');
  expect(JSON.stringify(configured.paths)).toContain('https://api.acme.test/docs/errors/invalid_cursor');
});
