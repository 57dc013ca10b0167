import { exampleOrigin } from './errors.ts';
import type { Operation } from './types.ts';

type Described = { path: string; operationId: string; exampleId: string | undefined };

/** Examples of a request, with curl and with the typed client. */
export function codeSamples(
  baseUrl: string = exampleOrigin,
  { path, operationId, exampleId }: Described,
): NonNullable<Operation['x-codeSamples']> {
  const method = clientMethod(path, operationId);
  const call = `client.${method}(${exampleId === undefined ? '' : `'${exampleId}'`})`;
  const curl = `curl '${baseUrl}${path.replace(':id', exampleId ?? '')}' \\
  --header "Authorization: Bearer $API_KEY"`;
  const typescript = `import { createClient } from '@support-read-models/client';

const client = createClient({
  baseUrl: '${baseUrl}',
  apiKey: process.env.API_KEY ?? '',
});

${method.endsWith('.list') ? `for await (const item of ${call}) {\n  console.log(item);\n}` : `const { data } = await ${call};`}`;
  return [
    { lang: 'Shell', label: 'curl', source: curl },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript },
  ];
}

/**
 * The method of the typed client. `listMacros` of `/v1/macros` is `macros.list`, `retrieveMacro` is `macros.retrieve`, and
 * an operation of `/v1/macros/:id/steps` is within `macros`.
 */
export function clientMethod(path: string, operationId: string): string {
  const [, verb, noun = ''] = /^(list|retrieve)([A-Z]\w*)$/.exec(operationId) ?? [];
  if (!verb) throw new Error(`${operationId}: an operation is listThings or retrieveThing`);
  const things = verb === 'list' ? noun : plural(noun);
  const parents = [...path.matchAll(/(\w+)\/:id\//g)].map(([, segment]) => `${segment}.`);
  return `${parents.join('')}${things.charAt(0).toLowerCase()}${things.slice(1)}.${verb}`;
}

const plural = (noun: string) => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`);
