import { parse } from 'yaml';

/** A JSON schema with the keywords that this file reads. */
type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  [keyword: string]: unknown;
};

type Kind = { group: string; version: string; kind: string };
type OpenApi = { definitions: Record<string, Schema & { 'x-kubernetes-group-version-kind'?: Kind[] }> };
type CustomResource = {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
};

/** The name of a kind's file, as kubeconform's template `{{.ResourceKind}}{{.KindSuffix}}.json` has it. */
const fileName = ({ group, version, kind }: Kind) =>
  `${[kind, group.split('.')[0], version].filter(Boolean).join('-').toLowerCase()}.json`;

/** The schema of each kind of Kubernetes, by file name. A file contains all definitions to which it refers. */
export function kubernetesSchemas(swagger: string): Record<string, Schema> {
  const { definitions } = JSON.parse(swagger) as OpenApi;
  const strictDefinitions = mapValues(definitions, strict);
  const schemas: Record<string, Schema> = {};
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(definitions)) {
    const [kind] = kinds;
    // A definition of several kinds, such as DeleteOptions, does not describe an object.
    if (!kind || kinds.length > 1) continue;
    const needed = reachableNames(name, strictDefinitions);
    schemas[fileName(kind)] = {
      $ref: `#/definitions/${name}`,
      definitions: Object.fromEntries(
        needed.map((neededName) => [neededName, strictDefinitions[neededName] as Schema]),
      ),
    };
  }
  return schemas;
}

/** The schema of each version of a custom resource, by file name. */
export function customSchemas(definition: string): Record<string, Schema> {
  const { group, names, versions } = (parse(definition) as CustomResource).spec;
  return Object.fromEntries(
    versions.map(({ name, schema }) => [
      fileName({ group, version: name, kind: names.kind }),
      strict(schema.openAPIV3Schema),
    ]),
  );
}

/** A definition's name, and the names of all definitions to which it refers, directly or not. */
function reachableNames(name: string, definitions: Record<string, Schema>): string[] {
  const names = new Set([name]);
  // The loop also visits the names that it adds.
  for (const reached of names) {
    const text = JSON.stringify(definitions[reached]);
    for (const [, referenced = ''] of text.matchAll(/"#\/definitions\/([^"]+)"/g)) names.add(referenced);
  }
  return [...names];
}

/** A schema that refuses fields it does not know, as the API server does with strict validation. */
function strict({ type, format, properties, items, additionalProperties, ...rest }: Schema): Schema {
  if (format === 'int-or-string') return { type: ['string', 'integer'] as unknown as string };
  const isOpen = additionalProperties !== undefined || rest['x-kubernetes-preserve-unknown-fields'] === true;
  const extra =
    typeof additionalProperties === 'object' ? strict(additionalProperties) : additionalProperties;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([keyword]) => !keyword.startsWith('x-'))),
    ...(type !== undefined && { type }),
    ...(properties && { properties: mapValues(properties, strict) }),
    ...(items && { items: strict(items) }),
    ...(properties && !isOpen ? { additionalProperties: false } : { additionalProperties: extra ?? true }),
  };
}

const mapValues = <T, U>(values: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
