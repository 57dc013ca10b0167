import { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

export type Converted = {
  schema: JsonSchema;
  /** What `schema` refers to as `#/components/schemas/<name>`: everything that has an `id`. */
  components: Record<string, JsonSchema>;
};

/** A zod schema in the dialect of OpenAPI 3.1, as it is after parsing: a parameter as its type, not as text. */
export function toJsonSchema(zodSchema: z.ZodType): Converted {
  const { $schema, $defs, ...schema } = z.toJSONSchema(zodSchema, {
    target: 'draft-2020-12',
    io: 'output',
    // What is transformed says by its `meta` what it is on the wire.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // zod's name of a check; the pattern beside it says the same.
      if (jsonSchema.format === 'starts_with') delete jsonSchema.format;
    },
  });
  void $schema;
  const text = JSON.stringify({ schema, components: $defs ?? {} });
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Converted;
}
