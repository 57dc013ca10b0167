import { z } from 'zod';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { states } from '../../../shared/documents/resources.ts';
import { displayOf } from './field-display.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The names of all fields that an event's `data` may have, those of objects, lists and alternatives included. */
function fieldNames(schema: JsonSchema | boolean | undefined): string[] {
  if (typeof schema !== 'object') return [];
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const inside = [items ?? [], additionalProperties ?? [], anyOf, oneOf, allOf].flat() as JsonSchema[];
  return [
    ...Object.keys(properties),
    ...[...Object.values(properties), ...inside].flatMap((part) => fieldNames(part as JsonSchema)),
  ];
}

const namesOf = (kind: Kind): string[] => [
  ...new Set(
    fieldNames(z.toJSONSchema(states[kind], { io: 'input', unrepresentable: 'any', reused: 'inline' })),
  ),
];

it.each(kinds)('says of each field of %s how dead letters display it', (kind) => {
  expect(namesOf(kind)).toContain('id');
  expect(namesOf(kind).filter((name) => displayOf(name) === null)).toEqual([]);
});

it('walks into objects, lists and alternatives', () => {
  expect(namesOf('channel')).toEqual(
    expect.arrayContaining(['utmTagging', 'campaign', 'signatures', 'label', 'contactCapture']),
  );
  expect(namesOf('message')).toEqual(expect.arrayContaining(['filename', 'inline']));
});
