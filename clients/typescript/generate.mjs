import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';
import { clientSource } from './generate-client.mjs';

/**
 * Generates the types and the methods from openapi.json, and the version from package.json. With `--check`, writes
 * nothing and fails if a file is out of date.
 */
const { factory } = ts;
const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

/**
 * A later release of the API may return values that this one does not list, so the types of responses allow them:
 * `'open' | 'closed' | (string & {})`, which editors still complete.
 */
function openEnum({ 'x-extensible-enum': values }) {
  if (!values) return undefined;
  const literals = values.map((value) => factory.createLiteralTypeNode(factory.createStringLiteral(value)));
  const anyString = factory.createIntersectionTypeNode([
    factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
    factory.createTypeLiteralNode([]),
  ]);
  return factory.createUnionTypeNode([...literals, factory.createParenthesizedType(anyString)]);
}

/**
 * Leaves out two keywords. With `additionalProperties`, the compiler would accept a misspelled field. `discriminator`
 * is not needed, because the constants of a union's members discriminate it.
 */
const ignoredKeywords = ['additionalProperties', 'discriminator'];
const document = JSON.parse(read('../../openapi.json'), (key, value) =>
  ignoredKeywords.includes(key) ? undefined : value,
);
const types = await openapiTS(document, { alphabetize: true, transform: openEnum });
const { version } = JSON.parse(read('package.json'));
const files = {
  'src/generated/openapi.ts': `${COMMENT_HEADER}${astToString(types)}`,
  'src/generated/client.ts': clientSource(document),
  'src/generated/version.ts': `/** As in package.json. */\nexport const version = '${version}';\n`,
};

for (const [path, text] of Object.entries(files)) {
  if (read(path) === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${path} is out of date. Update it: npm run client:generate`);
    process.exitCode = 1;
  } else writeFileSync(new URL(path, import.meta.url), text);
}
