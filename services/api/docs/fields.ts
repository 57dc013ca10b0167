import type { JsonSchema } from '../openapi/json-schema.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Reference } from '../openapi/types.ts';

/** A field of a response by its path, such as `requester.email.verified` or `tags[].name`. */
export type Field = {
  path: string;
  /** The type in words, in Markdown, such as `string or null`. */
  type: string;
  description: string;
  /** The only variant of a union that has the field, in Markdown, such as `type` is `email`; null if all have it. */
  variant: string | null;
};

/**
 * Lists the fields of a schema, each directly followed by its nested fields. For a union, lists all fields of the first
 * variant, then the fields that only the other variants have. If only one variant has a field, `variant` names it.
 */
export function listFields(
  spec: OpenApiDocument,
  parent: JsonSchema,
  parentPath = '',
  variant: string | null = null,
): Field[] {
  const { schema, path } = itemOfList(spec, parent, parentPath);
  const variants = nonNullAlternatives(spec, schema).filter(({ properties }) => properties);
  const [first] = variants;
  if (!first) return [];
  const discriminator = resolve<Discriminated>(spec, schema).discriminator?.propertyName;
  const pathOf = (name: string) => (path ? `${path}.${name}` : name);
  const isShared = (name: string) => name === discriminator || isSameInAll(variants, name);
  const fieldsOf = (owner: JsonSchema, name: string): Field[] => {
    const field = name === discriminator ? discriminatorSchema(variants, name) : property(owner, name);
    if (!discriminator || isShared(name)) return withNestedFields(spec, field, pathOf(name), variant);
    const value = String(property(owner, discriminator).const);
    return withNestedFields(spec, field, pathOf(name), `\`${pathOf(discriminator)}\` is \`${value}\``);
  };
  const fields: Field[] = [];
  for (const owner of variants) {
    for (const name of Object.keys(owner.properties ?? {})) {
      if (owner === first || !isShared(name)) fields.push(...fieldsOf(owner, name));
    }
  }
  return fields;
}

/** Returns the field with this schema, followed by its nested fields. */
function withNestedFields(
  spec: OpenApiDocument,
  schema: JsonSchema,
  path: string,
  variant: string | null,
): Field[] {
  const description = schema.description ?? resolve<JsonSchema>(spec, schema).description ?? '';
  const nested = listFields(spec, schema, path, variant);
  return [{ path, type: typeOf(spec, schema), description, variant }, ...nested];
}

type Discriminated = JsonSchema & { discriminator?: { propertyName: string } };

const property = ({ properties = {} }: JsonSchema, name: string) => (properties[name] ?? {}) as JsonSchema;

/** Whether all variants of a union have the same schema for a field. */
function isSameInAll(variants: JsonSchema[], name: string): boolean {
  const schemas = variants.map((variant) => JSON.stringify(property(variant, name)));
  return new Set(schemas).size === 1;
}

/** Returns one schema for the discriminator of a union, such as `type`, with the values of all variants. */
function discriminatorSchema(variants: JsonSchema[], name: string): JsonSchema {
  const options = variants.map((variant) => property(variant, name));
  const texts = options.map(({ const: value, description = '' }) => `\`${String(value)}\`: ${description}`);
  return { anyOf: options, description: texts.join(' ') };
}

/** Returns the schema and path of the items of a list, at any depth. Returns any other schema unchanged. */
function itemOfList(
  spec: OpenApiDocument,
  schema: JsonSchema,
  path: string,
): { schema: JsonSchema; path: string } {
  const [list] = nonNullAlternatives(spec, schema).filter(({ items }) => items);
  return list ? itemOfList(spec, list.items as JsonSchema, `${path}[]`) : { schema, path };
}

/** Returns the alternatives of a union and of its nested unions. Returns any other schema as its only alternative. */
function alternatives(spec: OpenApiDocument, schema: JsonSchema): JsonSchema[] {
  const resolved = resolve<JsonSchema>(spec, schema);
  const options = resolved.oneOf ?? resolved.anyOf;
  return options?.flatMap((option) => alternatives(spec, option)) ?? [resolved];
}

const nonNullAlternatives = (spec: OpenApiDocument, schema: JsonSchema) =>
  alternatives(spec, schema).filter(({ type }) => type !== 'null');

/** The type of a schema in words, in Markdown, such as `string or null`. */
export function typeOf(spec: OpenApiDocument, schema: JsonSchema): string {
  const names = new Set<string>();
  for (const alternative of alternatives(spec, schema)) {
    const types = [alternative.type ?? 'any'].flat();
    for (const type of types) names.add(typeName(spec, alternative, type));
  }
  // `null` comes last, as in `string or null`.
  if (names.delete('null')) names.add('null');
  return [...names].join(' or ');
}

function typeName(spec: OpenApiDocument, schema: JsonSchema, type: string): string {
  const { minimum, maximum, format, items, enum: values } = schema;
  if (type === 'null') return type;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (values) {
    const texts = values.filter((value) => value !== null).map((value) => `\`${String(value)}\``);
    return `${type}: ${texts.join(', ')}`;
  }
  if (type === 'array') return `list of ${typeOf(spec, (items ?? {}) as JsonSchema)}`;
  // Zod limits every integer to the safe range of JavaScript. The reference omits that limit.
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    return `${type} from ${minimum} to ${maximum}`;
  return format ? `${type} (${format})` : type;
}

/**
 * Returns the object to which a reference leads, such as `#/components/schemas/Ticket`. Returns any other object
 * unchanged.
 */
export function resolve<Target extends object>(spec: OpenApiDocument, value: Target | Reference): Target {
  if (!('$ref' in value)) return value;
  const [, ...steps] = value.$ref.split('/');
  let target: unknown = spec;
  for (const step of steps) target = (target as Record<string, unknown>)[step];
  return target as Target;
}
