import { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

type Converted = {
  schema: JsonSchema;
  /** The schemas with an `id`, which `schema` refers to as `#/components/schemas/<name>`. */
  components: Record<string, JsonSchema>;
};

/** Converts a zod schema to JSON Schema for OpenAPI 3.1. It describes the parsed value: a number, not its text. */
export function toJsonSchema(zodSchema: z.ZodType): Converted {
  const { $schema, $defs, ...schema } = z.toJSONSchema(zodSchema, {
    target: 'draft-2020-12',
    io: 'output',
    // A transformed schema describes its form on the wire in its `meta`.
    unrepresentable: 'any',
    override: ({ zodSchema: { _zod }, jsonSchema }) => {
      // zod adds this non-standard format; the pattern says the same.
      if (jsonSchema.format === 'starts_with') delete jsonSchema.format;
      if (_zod.def.type === 'union' && 'discriminator' in _zod.def)
        jsonSchema.discriminator = discriminator(_zod.def as unknown as Union);
    },
  });
  void $schema;
  const text = JSON.stringify({ schema, components: $defs ?? {} });
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Converted;
}

type Union = { discriminator: string; options: readonly z.ZodObject[] };

/** Tells generated clients which member a value is. Each member is a component. */
function discriminator({ discriminator: propertyName, options }: Union) {
  const mapping = options.map((option) => {
    const [value] = (option.shape[propertyName] as z.ZodLiteral<string>).values;
    return [value, `#/$defs/${option.meta()?.id}`];
  });
  return { propertyName, mapping: Object.fromEntries(mapping) as Record<string, string> };
}
