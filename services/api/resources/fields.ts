import { z } from 'zod';

/** The time as tickets, conversations and messages show it, without a fraction: `2026-01-31T12:00:00Z`. */
export const toSeconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
export const toSecondsOrNull = (date: Date | null | undefined): string | null =>
  date ? toSeconds(date) : null;

/** The time as channels and Q&As show it: `2026-01-31T12:00:00.000Z`. */
export const toMilliseconds = (date: Date): string => date.toISOString();
export const toMillisecondsOrNull = (date: Date | null | undefined): string | null =>
  date ? toMilliseconds(date) : null;

const time = (shape: RegExp) => z.string().regex(shape).meta({ format: 'date-time' });
export const secondsSchema = time(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
export const millisecondsSchema = time(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const nullableSeconds = secondsSchema.nullable();
export const nullableMilliseconds = millisecondsSchema.nullable();

export const nullableText = z.string().nullable();
export const displayName = nullableText.describe('The display name; null if it is unknown.');

/* The schemas of fields. Each takes a description, because the OpenAPI document describes every field. */

export const choice = <const T extends readonly string[]>(values: T, description: string) =>
  z.enum(values).describe(description);
export const flag = (description: string) => z.boolean().describe(description);
export const object = <F extends z.ZodRawShape>(description: string, fields: F) =>
  z.strictObject(fields).describe(description);
export const objectOrNull = <F extends z.ZodRawShape>(description: string, fields: F) =>
  z.strictObject(fields).nullable().describe(description);
/** An object that is a component of the OpenAPI document. */
export const component = <F extends z.ZodRawShape>(id: string, description: string, fields: F) =>
  z.strictObject(fields).meta({ id, description });

/** A tag or a topic with only its id and name. */
export const labelSchema = component('Label', 'A tag or a topic.', {
  id: z.string().describe('Id of the tag or topic.'),
  name: z.string().describe('Name of the tag or topic.'),
});
