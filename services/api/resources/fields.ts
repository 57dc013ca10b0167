import { z } from 'zod';

/** `2026-01-31T12:00:00Z`: tickets, conversations and messages; fractions are truncated. */
export const toSeconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
export const toSecondsOrNull = (date: Date | null): string | null => date && toSeconds(date);

/** `2026-01-31T12:00:00.000Z`: channels and Q&As. */
export const toMilliseconds = (date: Date): string => date.toISOString();
export const toMillisecondsOrNull = (date: Date | null): string | null => date && toMilliseconds(date);

export const secondsSchema = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  .meta({ format: 'date-time' });
export const millisecondsSchema = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time' });
export const nullableSeconds = secondsSchema.nullable();
export const nullableMilliseconds = millisecondsSchema.nullable();

export const nullableText = z.string().nullable();
export const displayName = nullableText.describe('The display name; null if it is unknown.');

/** A tag or a topic with only its id and name. */
export const labelSchema = z
  .strictObject({
    id: z.string().describe('Id of the tag or topic.'),
    name: z.string().describe('Name of the tag or topic.'),
  })
  .meta({ id: 'Label', description: 'A tag or a topic.' });
