import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { TicketJoined } from '../../../shared/documents/ticket.ts';
import {
  isExpired,
  shownConversations,
  type StoredConversation,
} from '../../../shared/documents/visibility.ts';
import { edgesOf, refOf } from '../../projector/materialize/edges.ts';
import { unreadableField } from '../../projector/materialize/envelope.ts';
import { engineProjection } from '../../projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';

const fields = ['orgId', 'version', 'state', 'joined', 'refs', 'byCreated', 'byUpdated', 'pending'] as const;

/** The fields of a stored document that affect API responses or later events. */
export type ComparedDocument = Pick<StoredDocument, '_id' | (typeof fields)[number]> & {
  /** The field that cannot be read, because an operator edited it. */
  unreadable?: string;
};

/** A stored document as an operator's command reads it: whole, with the fields that the engine writes for itself. */
export type ReadDocument = StoredDocument & Pick<ComparedDocument, 'unreadable'>;

/** A document, and the document that it should equal. */
export type DocumentPair = { expected: ComparedDocument | null; actual: ComparedDocument | null };

/** A MongoDB projection of a `ComparedDocument`, with the envelope. */
export const comparedFields = { ...Object.fromEntries(fields.map((name) => [name, 1])), ...engineProjection };

/** Adds `unreadable` to a stored document that an operator's edit has broken. */
export function markUnreadable(stored: StoredDocument): ReadDocument {
  const { state, deletedAt, expiresAt } = stored;
  // Only a deleted or purged document has no state.
  const lacksState = state === undefined && !deletedAt && !expiresAt;
  const unreadable = unreadableField(stored) ?? (lacksState ? 'state' : null);
  return unreadable === null ? stored : { ...stored, unreadable };
}

/**
 * The classes of differences. `unreadable`: an operator's edit has broken the document. `missing`: the compared
 * generation lacks the document. `extra`: only it has the document.
 */
export const differenceClasses = [
  'missing',
  'extra',
  'state',
  'joined',
  'sort-key',
  'pending',
  'refs',
  'version',
  'unreadable',
] as const;
export type DifferenceClass = (typeof differenceClasses)[number];

/** `field` is a path such as `joined.tags`, or the class if the whole document differs. */
export type Difference = { kind: Kind; id: string; class: DifferenceClass; field: string };

/** A difference that a change of a projection intends. `field` is a path or a class; `*` is any kind. */
export type Expectation = { kind: Kind | '*'; field: string };

/**
 * Compares a document with the document that it should equal. Ignores revisions and positions, which only order the
 * writes of one generation. Ignores data that has expired at `now`: the API hides it, and each generation is swept at a
 * different time.
 */
export function differencesOf(kind: Kind, pair: DocumentPair, now: Date): Difference[] {
  const { expected, actual } = pair;
  const document = expected ?? actual;
  if (!document) return [];
  const id = document._id;
  const unreadable = actual?.unreadable ?? expected?.unreadable;
  if (unreadable !== undefined) return [{ kind, id, class: 'unreadable', field: unreadable }];
  try {
    return differencesOfReadable(kind, id, pair, now);
  } catch {
    // An edit has put another value where a time or a list belongs.
    return [{ kind, id, class: 'unreadable', field: 'state' }];
  }
}

function differencesOfReadable(kind: Kind, id: string, pair: DocumentPair, now: Date): Difference[] {
  const found = fieldsThatDiffer(kind, pair, now);
  return found.map(({ class: name, field = name }) => ({ kind, id, class: name, field }));
}

/** Without a field, the whole document differs. */
type FoundDifference = { class: DifferenceClass; field?: string };

function fieldsThatDiffer(kind: Kind, { expected, actual }: DocumentPair, now: Date): FoundDifference[] {
  const expectedForm = expected && servedForm(kind, expected, now);
  const actualForm = actual && servedForm(kind, actual, now);
  if (expectedForm && actualForm) return differingFields(kind, expectedForm, actualForm);
  if (expectedForm) return [{ class: 'missing' }];
  // The API does not serve pending documents, so one is not extra. After compaction a build cannot know the retention
  // of a deleted channel, so it may keep the channel's conversations as pending.
  if (actualForm) return actualForm.pending ? [] : [{ class: 'extra' }];
  return rejectsMore({ expected, actual }) ? [{ class: 'version' }] : [];
}

const sortKeys = ['byCreated', 'byUpdated'] as const;

/** The fields that differ between two versions of a document that the API serves. */
function differingFields(
  kind: Kind,
  expected: ComparedDocument,
  actual: ComparedDocument,
): FoundDifference[] {
  const found: FoundDifference[] = [];
  if (expected.orgId !== actual.orgId) found.push({ class: 'state', field: 'orgId' });
  for (const part of ['state', 'joined'] as const) {
    for (const field of differingPaths(part, expected[part], actual[part]))
      found.push({ class: part, field });
  }
  for (const field of sortKeys) {
    if (expected[field] !== actual[field]) found.push({ class: 'sort-key', field });
  }
  if (expected.pending !== actual.pending) found.push({ class: 'pending' });
  const haveSameRefs = isDeepStrictEqual(refsInState(kind, expected), refsInState(kind, actual));
  if (!haveSameRefs) found.push({ class: 'refs' });
  if (expected.version !== actual.version) found.push({ class: 'version' });
  return found;
}

/**
 * Whether the build has deleted an entity at a higher version than the active generation. It then rejects events that
 * the active generation accepts. A lower version is normal: after compaction a build may know a deletion only from its
 * Kafka tombstone, or not at all.
 */
function rejectsMore({ expected, actual }: DocumentPair): boolean {
  if (expected?.state !== undefined || actual?.state !== undefined) return false;
  // Version 0: the active generation's tombstone document had expired before the Kafka tombstone came.
  if (!expected?.version) return false;
  return (actual?.version ?? 0) > expected.version;
}

/** The references that the state names. References to children are compared as joined fields. */
function refsInState(kind: Kind, { refs = [] }: ComparedDocument): string[] {
  const edges = edgesOf(kind).filter(({ type }) => type === 'reference' || type === 'owner');
  const prefixes = edges.map(({ name }) => refOf(name, ''));
  return refs.filter((ref) => prefixes.some((prefix) => ref.startsWith(prefix))).toSorted();
}

/** The paths of the fields that differ. */
function differingPaths(path: string, expected?: object | null, actual?: object | null): string[] {
  const expectedFields = (expected ?? {}) as Record<string, unknown>;
  const actualFields = (actual ?? {}) as Record<string, unknown>;
  const names = new Set([...Object.keys(expectedFields), ...Object.keys(actualFields)]);
  const differing = [...names].filter((name) => !isSame(expectedFields[name], actualFields[name]));
  return differing.map((name) => `${path}.${name}`);
}

/**
 * Whether two stored values are equal, if an absent field counts as null: an earlier release did not know the field.
 */
export const isSame = (a: unknown, b: unknown): boolean =>
  isDeepStrictEqual(a, b) || isDeepStrictEqual(withoutNulls(a), withoutNulls(b));

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value ?? undefined;
  const known: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const knownInner = withoutNulls(inner);
    if (knownInner !== undefined) known[name] = knownInner;
  }
  return known;
}

/** The document as the API may serve it at `now`; null if it has expired. */
function servedForm(kind: Kind, document: ComparedDocument, now: Date): ComparedDocument | null {
  if (document.state === undefined) return null;
  if (kind === 'conversation')
    return isExpired(document as ComparedDocument & StoredConversation, now) ? null : document;
  if (kind !== 'ticket') return document;
  const joined = document.joined as Partial<TicketJoined> | undefined;
  return {
    ...document,
    joined: { ...joined, conversations: shownConversations(joined?.conversations ?? [], now) },
  };
}

export const isExpected = (difference: Difference, expectations: Expectation[]): boolean =>
  expectations.some((expectation) => covers(expectation, difference));

function covers({ kind, field }: Expectation, difference: Difference): boolean {
  if (kind !== '*' && kind !== difference.kind) return false;
  if (field === difference.class || field === difference.field) return true;
  return difference.field.startsWith(`${field}.`);
}
