import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { resources } from '../../shared/documents/resources.ts';

/** The members of a zod definition that lead to its fields. */
type Definition = {
  type: string;
  shape?: Record<string, z.ZodType>;
  innerType?: z.ZodType;
  in?: z.ZodType;
  element?: z.ZodType;
  options?: z.ZodType[];
  entries?: Record<string, string>;
  values?: unknown[];
};

/** The number of elements of each list. */
const listLength = 2;

const prefixes = Object.values(resources).map(({ idPrefix }) => idPrefix);

/** The number of a field. It depends only on the path, so a new field does not change the values of other fields. */
const numberOf = (path: string): number => createHash('sha256').update(path).digest().readUInt16BE();

/**
 * Makes a state that the schema accepts. No two fields have the same sequence of values over the variants 0, 1, 2 …
 * Texts, numbers and instants differ in each variant. Booleans and enums are the digits of the field's number. So if
 * the API shows one field in place of another, the values differ in at least one variant.
 */
export function distinctState(schema: z.ZodType, name: string, variant: number): Record<string, unknown> {
  return valueOf(schema, name, variant) as Record<string, unknown>;
}

function valueOf(schema: z.ZodType, path: string, variant: number): unknown {
  const { innerType, in: input, shape, element, options, ...leaf } = schema.def as unknown as Definition;
  const inner = innerType ?? input ?? options?.[variant % options.length];
  if (inner) return valueOf(inner, path, variant);
  if (shape) {
    const object: Record<string, unknown> = {};
    for (const [field, type] of Object.entries(shape))
      object[field] = valueOf(type, `${path}.${field}`, variant);
    return object;
  }
  if (element) {
    const list: unknown[] = [];
    for (let index = 0; index < listLength; index += 1)
      list.push(valueOf(element, `${path}.${index}`, variant));
    return list;
  }
  const number = numberOf(path);
  const digit = (base: number) => Math.floor(number / base ** variant) % base;
  // Updates come two months after creations, because the API shows no update before the creation.
  const month = path.endsWith('.updatedAt') ? 2 : 0;
  if (leaf.values) return leaf.values[0];
  if (leaf.entries) {
    const values = Object.values(leaf.entries);
    return values[digit(values.length)];
  }
  const unique = number * 100 + variant;
  const candidates = [
    `${path} ${variant}`,
    new Date(Date.UTC(2026, month, 1, 0, number, variant, 123)).toISOString(),
    `#${unique.toString(16).padStart(6, '0')}`,
    unique.toString(16).padStart(64, '0'),
    unique,
    1 + digit(3),
    ...prefixes.map((prefix) => `${prefix}${number}_${variant}`),
    digit(2) === 1,
  ];
  const accepted = candidates.find((candidate) => schema.safeParse(candidate).success);
  if (accepted === undefined) throw new Error(`${path}: no value for a field of type ${leaf.type}`);
  return accepted;
}
