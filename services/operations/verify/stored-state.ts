import { isDeepStrictEqual } from 'node:util';
import { type EntityState, type Kind, states } from '../../../shared/documents/resources.ts';

type Fields = Record<string, unknown>;

/** A stored state as its schema reads it, or the first field that an operator's edit has broken: `state.<name>`. */
type ReadState<K extends Kind> = { state: EntityState[K] } | { broken: string };

/**
 * Reads a stored state. It is broken if the projector cannot have written it, because the schema of its entity refuses
 * or changes it. A field that is absent is read as null: the release that stored the state did not know it.
 */
export function readState<K extends Kind>(kind: K, state: object): ReadState<K> {
  const stored = state as Fields;
  const { data, error } = states[kind].safeParse(asPublished(kind, stored));
  if (error) return { broken: ['state', ...(error.issues[0]?.path ?? [])].slice(0, 2).map(String).join('.') };
  const parsed = data as Fields;
  const changed = Object.keys(parsed).find((name) => !contains(stored[name], parsed[name]));
  return changed === undefined ? { state: data as EntityState[K] } : { broken: `state.${changed}` };
}

/**
 * Whether a stored value has every field of the parsed one. An absent field is null, at any depth: an earlier release
 * did not know it. A field that the schema does not know is one of a later release.
 */
function contains(stored: unknown, parsed: unknown): boolean {
  if (Array.isArray(parsed))
    return (
      Array.isArray(stored) &&
      stored.length === parsed.length &&
      parsed.every((one, index) => contains(stored[index], one))
    );
  if (!isFields(parsed)) return isDeepStrictEqual(stored ?? null, parsed ?? null);
  return isFields(stored) && Object.keys(parsed).every((name) => contains(stored[name], parsed[name]));
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/**
 * A stored state in the form of an event: with texts for dates, and with the configuration of a channel under its type.
 */
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
