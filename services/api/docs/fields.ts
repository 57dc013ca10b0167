import type { JsonSchema } from '../openapi/json-schema.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Reference } from '../openapi/types.ts';

/** A field of a response by its path, such as `requester.email.verified` or `tags[].name`. */
export type Field = {
  path: string;
  /** In Markdown. */
  type: string;
  description: string;
  /** In Markdown: the variant of its parent that has the field. */
  only?: string | null;
};

/** Every field of a schema, in the order of the document, each directly followed by the fields inside it. */
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
  const isShared = (name: string) =>
    objects.every((each) => JSON.stringify(property(each, name)) === JSON.stringify(property(first, name)));
  const pathOf = (name: string) => (prefix ? `${prefix}.${name}` : name);
  const { discriminator } = resolve<Discriminated>(spec, schema);
  return objects.flatMap((owner) =>
    Object.keys(owner.properties ?? {}).flatMap((name) => {
      const isTag = name === discriminator?.propertyName;
      if (owner !== first && (isTag || isShared(name))) return [];
      if (isTag) return field(spec, anyTag(objects, name), pathOf(name), only);
      const tag = isShared(name) ? null : discriminator?.propertyName;
      const condition = tag ? `\`${pathOf(tag)}\` is \`${String(property(owner, tag).const)}\`` : only;
      return field(spec, property(owner, name), pathOf(name), condition);
    }),
  );
}

type Discriminated = JsonSchema & { discriminator?: { propertyName: string } };

const property = ({ properties = {} }: JsonSchema, name: string) => (properties[name] ?? {}) as JsonSchema;

/** The schema of the discriminator of a union, such as `type`, with the values of all variants. */
function anyTag(objects: JsonSchema[], name: string): JsonSchema {
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

/** The alternatives of a schema, null among them. */
function alternatives(spec: OpenApiDocument, given: JsonSchema): JsonSchema[] {
  const schema = resolve<JsonSchema>(spec, given);
  const options = schema.oneOf ?? schema.anyOf;
  return options?.flatMap((each) => alternatives(spec, each)) ?? [schema];
}

const variants = (spec: OpenApiDocument, given: JsonSchema) =>
  alternatives(spec, given).filter(({ type }) => type !== 'null');

/** In Markdown, such as `string or null`. */
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
