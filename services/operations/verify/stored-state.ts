import { isDeepStrictEqual } from 'node:util';
import { type EntityState, type Kind, states } from '../../../shared/documents/resources.ts';

type Fields = Record<string, unknown>;

/** A stored state as its schema reads it, or the first field that an operator's edit has broken: `state.<name>`. */
type ReadState<K extends Kind> = { state: EntityState[K] } | { broken: string };

/**
 * Reads a stored state. A state is broken if the schema of its entity refuses or changes it, because the projector
 * cannot have written it. An absent field is read as null: the release that stored the state did not know the field.
 */
export function readState<K extends Kind>(kind: K, state: object): ReadState<K> {
  const stored = state as Fields;
  const { data, error } = states[kind].safeParse(toPublishedForm(kind, stored));
  if (error) return { broken: ['state', ...(error.issues[0]?.path ?? [])].slice(0, 2).map(String).join('.') };
  const parsed = data as Fields;
  const changed = Object.keys(parsed).find((name) => !hasEveryField(stored[name], parsed[name]));
  return changed === undefined ? { state: data as EntityState[K] } : { broken: `state.${changed}` };
}

/**
 * Whether a stored value has every field of the parsed value. An absent field counts as null at any depth, because an
 * earlier release did not know it. A further field may come from a later release.
 */
function hasEveryField(stored: unknown, parsed: unknown): boolean {
  if (Array.isArray(parsed))
    return (
      Array.isArray(stored) &&
      stored.length === parsed.length &&
      parsed.every((item, index) => hasEveryField(stored[index], item))
    );
  if (!isFields(parsed)) return isDeepStrictEqual(stored ?? null, parsed ?? null);
  return isFields(stored) && Object.keys(parsed).every((name) => hasEveryField(stored[name], parsed[name]));
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/**
 * A stored state in the form of an event: with texts for dates, and with the configuration of a channel under its type.
 */
function toPublishedForm(kind: Kind, stored: Fields): unknown {
  const published = datesToTexts(stored) as Fields;
  if (kind !== 'channel') return published;
  const { config, ...rest } = published;
  return { ...rest, [String(stored.type)]: config };
}

function datesToTexts(value: unknown): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.map(datesToTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, datesToTexts(inner)]));
}
