import type { z } from 'zod';
import { referredKind } from './fields.ts';
import { type Kind, kinds, states } from './resources.ts';

type Schema = z.core.$ZodType;
/** The schemas that have parts or choices. */
type Node =
  | z.core.$ZodObject
  | z.core.$ZodUnion
  | z.core.$ZodDefault
  | z.core.$ZodNullable
  | z.core.$ZodPipe
  | z.core.$ZodArray;

/** The fields of a schema by name, with the fields of its parts and choices. */
function fieldsOf(schema: Schema): [string, Schema][] {
  const { def } = (schema as Node)._zod;
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).flatMap(([name, part]) => [[name, part], ...fieldsOf(part)]);
    case 'union':
      return def.options.flatMap(fieldsOf);
    case 'default':
    case 'nullable':
      return fieldsOf(def.innerType);
    case 'pipe':
      return fieldsOf(def.in);
    case 'array':
      return fieldsOf(def.element);
    default:
      return [];
  }
}

/** The kind that an id, an optional one or each of a list declares. */
function declaredKind(schema: Schema): unknown {
  const { def } = (schema as Node)._zod;
  if (def.type === 'array') return declaredKind(def.element);
  if (def.type === 'pipe') return declaredKind(def.in);
  if (def.type === 'default' || def.type === 'nullable') return declaredKind(def.innerType);
  return referredKind(schema);
}

test.each(kinds)('each id in the state of a %s declares the kind to which it refers', (kind: Kind) => {
  const ids = fieldsOf(states[kind]).filter(([name]) => /Ids?$/.test(name));
  const undeclared = ids.filter(([, schema]) => !kinds.includes(declaredKind(schema) as Kind));
  expect(undeclared.map(([name]) => name)).toEqual([]);
});
