import { exampleOrigin } from './errors.ts';
import type { Operation } from './types.ts';

type SampledOperation = { path: string; operationId: string; exampleId: string | undefined };
type SampleSettings = { baseUrl: string | undefined; clientPackage: string };

/** Examples of a request, with curl, the typed client and Python. */
export function codeSamples(
  { baseUrl = exampleOrigin, clientPackage }: SampleSettings,
  { path, operationId, exampleId }: SampledOperation,
): NonNullable<Operation['x-codeSamples']> {
  const method = clientMethod(path, operationId);
  const call = `client.${method}(${exampleId === undefined ? '' : `'${exampleId}'`})`;
  const url = `${baseUrl}${path.replace(':id', exampleId ?? '')}`;
  const isList = method.endsWith('.list');
  const curl = `curl --fail-with-body '${url}' \\
  --header "Authorization: Bearer $API_KEY"`;
  const typescript = `import { createClient } from '${clientPackage}';

const client = createClient({
  baseUrl: '${baseUrl}',
  apiKey: process.env.API_KEY ?? '',
});

${isList ? `for await (const item of ${call}) {\n  console.log(item);\n}` : `const { data } = await ${call};`}`;
  return [
    { lang: 'Shell', label: 'curl', source: curl },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript },
    { lang: 'Python', label: 'Python', source: isList ? pythonList(url) : pythonRetrieve(url) },
  ];
}

const pythonList = (url: string) => `import os
import requests

headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
cursor = None
while True:
    params = {"limit": 100, "startingAfter": cursor}
    response = requests.get("${url}", params=params, headers=headers)
    if not response.ok:
        raise SystemExit(response.text)
    page = response.json()
    for item in page["data"]:
        print(item)
    cursor = page["nextCursor"]
    if cursor is None:
        break`;

const pythonRetrieve = (url: string) => `import os
import requests

headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
response = requests.get("${url}", headers=headers)
if not response.ok:
    raise SystemExit(response.text)
print(response.json())`;

/**
 * The method of the typed client. `listMacros` of `/v1/macros` is `macros.list`, `retrieveMacro` is `macros.retrieve`,
 * and `listSteps` of `/v1/macros/:id/steps` is `macros.steps.list`.
 */
export function clientMethod(path: string, operationId: string): string {
  const [, verb, noun = ''] = /^(list|retrieve)([A-Z]\w*)$/.exec(operationId) ?? [];
  if (!verb) throw new Error(`${operationId}: an operation is listThings or retrieveThing`);
  const collection = verb === 'list' ? noun : plural(noun);
  const parents = [...path.matchAll(/(\w+)\/:id\//g)].map(([, segment]) => `${segment}.`);
  return `${parents.join('')}${collection.charAt(0).toLowerCase()}${collection.slice(1)}.${verb}`;
}

const plural = (noun: string) => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`);
