import { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

type Converted = {
  schema: JsonSchema;
  /** The schemas with an `id`, which `schema` refers to as `#/components/schemas/<name>`. */
  components: Record<string, JsonSchema>;
};

/**
 * Converts the zod schema of parameters to JSON Schema for OpenAPI 3.1. The JSON Schema describes the parsed
 * value, such as a number instead of its text.
 */
export const toJsonSchema = (zodSchema: z.ZodType): Converted => convert(zodSchema, (value) => value);

/**
 * Converts the zod schema of a response. Later releases may add fields to objects, and values to fields, without notice
 * (docs/guides/versioning.md), so the schema allows both.
 */
export const toOpenSchema = (zodSchema: z.ZodType): Converted => convert(zodSchema, openSchema);

function convert(zodSchema: z.ZodType, change: (value: unknown) => unknown): Converted {
  const { $schema, $defs, ...schema } = z.toJSONSchema(zodSchema, {
    target: 'draft-2020-12',
    io: 'output',
    // A schema with a transformation declares in its `meta` the text that clients send.
    unrepresentable: 'any',
    override: ({ zodSchema: { _zod }, jsonSchema }) => {
      // zod adds this non-standard format; the pattern has the same meaning.
      if (jsonSchema.format === 'starts_with') delete jsonSchema.format;
      if (_zod.def.type === 'union' && 'discriminator' in _zod.def)
        jsonSchema.discriminator = discriminator(_zod.def as unknown as Union);
    },
  });
  void $schema;
  const text = JSON.stringify({ schema, components: $defs ?? {} });
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/'), (_, value) =>
    change(value),
  ) as Converted;
}

/**
 * Generated clients refuse a value that an `enum` lacks, and a date with a pattern. Clients of OpenAPI Generator
 * refuse undeclared fields unless the schema has `additionalProperties: true`.
 */
function openSchema(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { additionalProperties, enum: values, pattern, ...rest } = value as JsonSchema;
  const schema: JsonSchema = rest;
  if (additionalProperties !== undefined) schema.additionalProperties = true;
  if (pattern !== undefined && schema.format !== 'date-time') schema.pattern = pattern;
  if (values) {
    schema.description = openDescription(schema.description ?? '', values);
    schema['x-extensible-enum'] = values;
  }
  return schema;
}

function openDescription(description: string, values: unknown[]): string {
  const quoted = values.map((value) => `\`${String(value)}\``);
  const isListed = quoted.every((value) => description.includes(value));
  return `${description}${isListed ? '' : ` Now ${quoted.join(', ')}.`} Later releases may add values.`.trim();
}

type Union = { discriminator: string; options: readonly z.ZodObject[] };

/** Shows generated clients which member a value is. Each member is a component. */
function discriminator({ discriminator: propertyName, options }: Union) {
  const mapping = options.map((option) => {
    const [value] = (option.shape[propertyName] as z.ZodLiteral<string>).values;
    return [value, `#/$defs/${option.meta()?.id}`];
  });
  return { propertyName, mapping: Object.fromEntries(mapping) as Record<string, string> };
}
