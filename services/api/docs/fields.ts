import type { JsonSchema } from '../openapi/json-schema.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Reference } from '../openapi/types.ts';

/** A field of a response by its path, such as `requester.email.verified` or `tags[].name`. */
export type Field = {
  path: string;
  /** The type in words, in Markdown, such as `string or null`. */
  type: string;
  description: string;
  /** The variant that has the field, in Markdown, such as `type` is `email`; null if all variants have it. */
  only?: string | null;
};

/**
 * The fields of a schema, each directly followed by the fields inside it. Of a union, the first variant gives the
 * discriminator and the fields that all variants share; the other fields name their variant in `only`.
 */
export function fieldsOf(
  spec: OpenApiDocument,
  given: JsonSchema,
  parent = '',
  only: string | null = null,
): Field[] {
  const { schema, prefix } = withoutList(spec, given, parent);
  const objects = variants(spec, schema).filter(({ properties }) => properties);
  const [first] = objects;
  if (!first) return [];
  const discriminator = resolve<Discriminated>(spec, schema).discriminator?.propertyName;
  const isShared = (name: string) =>
    objects.every((each) => JSON.stringify(property(each, name)) === JSON.stringify(property(first, name)));
  const pathOf = (name: string) => (prefix ? `${prefix}.${name}` : name);
  const fieldOf = (owner: JsonSchema, name: string): Field[] => {
    const path = pathOf(name);
    if (name === discriminator) return field(spec, discriminatorSchema(objects, name), path, only);
    const own = property(owner, name);
    if (!discriminator || isShared(name)) return field(spec, own, path, only);
    const value = String(property(owner, discriminator).const);
    return field(spec, own, path, `\`${pathOf(discriminator)}\` is \`${value}\``);
  };
  return objects.flatMap((owner) => {
    const names = Object.keys(owner.properties ?? {});
    const isOwn = (name: string) => name !== discriminator && !isShared(name);
    const listed = owner === first ? names : names.filter(isOwn);
    return listed.flatMap((name) => fieldOf(owner, name));
  });
}

type Discriminated = JsonSchema & { discriminator?: { propertyName: string } };

const property = ({ properties = {} }: JsonSchema, name: string) => (properties[name] ?? {}) as JsonSchema;

/** The schema of the discriminator of a union, such as `type`, with the values of all variants. */
function discriminatorSchema(objects: JsonSchema[], name: string): JsonSchema {
  const options = objects.map((each) => property(each, name));
  const texts = options.map(({ const: value, description = '' }) => `\`${String(value)}\`: ${description}`);
  return { anyOf: options, description: texts.join(' ') };
}

function field(spec: OpenApiDocument, schema: JsonSchema, path: string, only: string | null): Field[] {
  const description = schema.description ?? resolve<JsonSchema>(spec, schema).description ?? '';
  const inner = fieldsOf(spec, schema, path, only);
  return [{ path, type: typeOf(spec, schema), description, only }, ...inner];
}

/** The schema of the items of a list, at any depth, and the path of an item. */
function withoutList(
  spec: OpenApiDocument,
  given: JsonSchema,
  prefix: string,
): { schema: JsonSchema; prefix: string } {
  const [list] = variants(spec, given).filter(({ items }) => items);
  return list ? withoutList(spec, list.items as JsonSchema, `${prefix}[]`) : { schema: given, prefix };
}

/** The alternatives of a schema, which may contain null. */
function alternatives(spec: OpenApiDocument, given: JsonSchema): JsonSchema[] {
  const schema = resolve<JsonSchema>(spec, given);
  const options = schema.oneOf ?? schema.anyOf;
  return options?.flatMap((each) => alternatives(spec, each)) ?? [schema];
}

const variants = (spec: OpenApiDocument, given: JsonSchema) =>
  alternatives(spec, given).filter(({ type }) => type !== 'null');

/** The type of a schema in words, in Markdown, such as `string or null`. */
export function typeOf(spec: OpenApiDocument, given: JsonSchema): string {
  const names = alternatives(spec, given).flatMap((schema) =>
    [schema.type ?? 'any'].flat().map((type) => typeName(spec, schema, type)),
  );
  const isNull = (name: string) => name === 'null';
  return [...new Set([...names.filter((name) => !isNull(name)), ...names.filter(isNull)])].join(' or ');
}

function typeName(spec: OpenApiDocument, schema: JsonSchema, type: string): string {
  const { minimum, maximum, format, items, enum: values } = schema;
  if (type === 'null') return type;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (values)
    return `${type}: ${values.flatMap((value) => (value === null ? [] : `\`${String(value)}\``)).join(', ')}`;
  if (type === 'array') return `list of ${typeOf(spec, (items ?? {}) as JsonSchema)}`;
  // zod bounds every integer to the range of JavaScript, which is no limit of the API.
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    return `${type} from ${minimum} to ${maximum}`;
  return format ? `${type} (${format})` : type;
}

/**
 * The object to which a reference leads, such as `#/components/schemas/Ticket`; any other object is returned as it is.
 */
export function resolve<Target extends object>(spec: OpenApiDocument, value: Target | Reference): Target {
  if (!('$ref' in value)) return value;
  const [, ...steps] = value.$ref.split('/');
  return steps.reduce<unknown>((parent, step) => (parent as Record<string, unknown>)[step], spec) as Target;
}
