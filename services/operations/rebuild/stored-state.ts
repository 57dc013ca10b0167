import { isDeepStrictEqual } from 'node:util';
import { states, type Kind } from '../../../shared/documents/resources.ts';

type Fields = Record<string, unknown>;

/**
 * The field of a stored state that the projector cannot have written, because the schema of its entity would have refused
 * or changed it: an operator's edit has removed the field, or has given it another type. Null if there is none.
 */
export function brokenField(kind: Kind, state: object): string | null {
  const stored = state as Fields;
  const { data, error } = states[kind].safeParse(asPublished(kind, stored));
  if (error) return ['state', ...(error.issues[0]?.path ?? [])].slice(0, 2).map(String).join('.');
  const parsed = data as Fields;
  const names = new Set([...Object.keys(stored), ...Object.keys(parsed)]);
  const changed = [...names].find((name) => !isDeepStrictEqual(stored[name], parsed[name]));
  return changed === undefined ? null : `state.${changed}`;
}

/** A stored state in the form of an event: with texts for dates, and with the configuration of a channel under its type. */
function asPublished(kind: Kind, stored: Fields): unknown {
  const published = withTexts(stored) as Fields;
  if (kind !== 'channel') return published;
  const { config, ...rest } = published;
  return { ...rest, [String(stored.type)]: config };
}

function withTexts(value: unknown): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner)]));
}
