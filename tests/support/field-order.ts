import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '../../services/api/openapi/json-schema.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';

type Schemas = OpenApiDocument['components']['schemas'];

/** Names each object of a valid value whose fields are not in the order of its schema. References lead to `schemas`. */
export function* misordered(
  schemas: Schemas,
  unresolved: JsonSchema,
  value: unknown,
  path = 'the body',
): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  const { items, properties, oneOf, anyOf } = resolved(schemas, unresolved);
  const options = (oneOf ?? anyOf ?? []).filter((option) => isOf(schemas, option, value));
  for (const option of options) yield* misordered(schemas, option, value, path);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      yield* misordered(schemas, items as JsonSchema, item, `${path}.${index}`);
  } else if (properties) {
    yield* misorderedFields(schemas, properties, value, path);
  }
}

function* misorderedFields(
  schemas: Schemas,
  properties: Required<JsonSchema>['properties'],
  value: object,
  path: string,
): Generator<string> {
  const fields = new Map(Object.entries(value));
  const expected = Object.keys(properties).filter((name) => fields.has(name));
  const found = [...fields.keys()].filter((name) => name in properties);
  if (!isDeepStrictEqual(found, expected))
    yield `${path} has the fields ${found.join(', ')} instead of ${expected.join(', ')}`;
  for (const name of expected)
    yield* misordered(schemas, properties[name] as JsonSchema, fields.get(name), `${path}.${name}`);
}

/** Whether an object has only fields of this option, and the constant by which a discriminator chooses the option. */
function isOf(schemas: Schemas, option: JsonSchema, value: object): boolean {
  const properties = (resolved(schemas, option).properties ?? {}) as Record<string, JsonSchema>;
  return Object.entries(value).every(([name, field]) => {
    const property = properties[name];
    return property !== undefined && (property.const ?? field) === field;
  });
}

const resolved = (schemas: Schemas, schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined
    ? schema
    : (schemas[schema.$ref.slice('#/components/schemas/'.length)] as JsonSchema);
