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
function fileName({ group, version, kind }: Kind): string {
  const [shortGroup] = group.split('.');
  // The core group has no name.
  const parts = shortGroup ? [kind, shortGroup, version] : [kind, version];
  return `${parts.join('-').toLowerCase()}.json`;
}

/** The schema of each kind of Kubernetes, by file name. A file contains all definitions to which it refers. */
export function kubernetesSchemas(swagger: string): Record<string, Schema> {
  const { definitions } = JSON.parse(swagger) as OpenApi;
  const strictDefinitions = mapValues(definitions, strict);
  const schemas: Record<string, Schema> = {};
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(definitions)) {
    const [kind] = kinds;
    // A definition of several kinds, such as DeleteOptions, does not describe an object.
    if (!kind || kinds.length > 1) continue;
    const needed: Record<string, Schema | undefined> = {};
    for (const reached of reachableNames(name, strictDefinitions))
      needed[reached] = strictDefinitions[reached];
    schemas[fileName(kind)] = { $ref: `#/definitions/${name}`, definitions: needed };
  }
  return schemas;
}

/** The schema of each version of a custom resource, by file name. */
export function customSchemas(definition: string): Record<string, Schema> {
  const { group, names, versions } = (parse(definition) as CustomResource).spec;
  const schemas: Record<string, Schema> = {};
  for (const { name: version, schema } of versions) {
    const file = fileName({ group, version, kind: names.kind });
    schemas[file] = strict(schema.openAPIV3Schema);
  }
  return schemas;
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
  const result: Schema = {};
  for (const [keyword, value] of Object.entries(rest)) {
    if (!keyword.startsWith('x-')) result[keyword] = value;
  }
  if (type !== undefined) result.type = type;
  if (properties) result.properties = mapValues(properties, strict);
  if (items) result.items = strict(items);
  if (typeof additionalProperties === 'object') result.additionalProperties = strict(additionalProperties);
  else if (additionalProperties !== undefined) result.additionalProperties = additionalProperties;
  else result.additionalProperties = !properties || rest['x-kubernetes-preserve-unknown-fields'] === true;
  return result;
}

function mapValues<T, U>(values: Record<string, T>, change: (value: T) => U): Record<string, U> {
  const changed: Record<string, U> = {};
  for (const [name, value] of Object.entries(values)) changed[name] = change(value);
  return changed;
}
