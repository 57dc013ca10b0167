import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/document.ts';
import { isExpired, retainUntil } from '../../../shared/documents/retention.ts';
import type { StoredDocument } from '../materialize/store.ts';

/** What of a document a reader can see, or a list is found by. */
export type Seen = Pick<
  StoredDocument,
  '_id' | 'orgId' | 'state' | 'joined' | 'byCreated' | 'byUpdated' | 'pending'
>;

/** The fields of a stored document that a comparison reads. */
export const seenFields = { orgId: 1, state: 1, joined: 1, byCreated: 1, byUpdated: 1, pending: 1 };

/** The classes of differences, from the point of view of the new document. */
export type DifferenceClass = 'missing' | 'extra' | 'state' | 'joined' | 'sort-key' | 'pending';

/** `field` is the path of what differs, such as `joined.tags`; or the class, where the whole document does. */
export type Difference = { kind: Kind; id: string; class: DifferenceClass; field: string };

/** A difference that a change of a projection intends: `kind:field`, `kind:class`, or `*` for any kind. */
export type Expectation = { kind: Kind | '*'; field: string };

/**
 * Compares a document with the one that it should equal; null where there is none. Versions, revisions and positions
 * are left out, and so is data that has expired at `now`: readers never see it, and each side frees it in its own time.
 */
export function differencesOf(
  kind: Kind,
  expected: Seen | null,
  actual: Seen | null,
  now: Date,
): Difference[] {
  const [before, after] = [expected && visible(kind, expected, now), actual && visible(kind, actual, now)];
  const id = (expected ?? actual)?._id ?? '';
  if (!before && !after) return [];
  if (!after) return [{ kind, id, class: 'missing', field: 'missing' }];
  if (!before) return [{ kind, id, class: 'extra', field: 'extra' }];
  const differs = (field: 'orgId' | 'byCreated' | 'byUpdated' | 'pending') => before[field] !== after[field];
  return [
    ...(differs('orgId') ? [{ kind, id, class: 'state' as const, field: 'orgId' }] : []),
    ...fieldsOf(before.state, after.state, 'state').map((field) => ({
      kind,
      id,
      class: 'state' as const,
      field,
    })),
    ...fieldsOf(before.joined, after.joined, 'joined').map((field) => ({
      ...{ kind, id, class: 'joined' as const, field },
    })),
    ...(['byCreated', 'byUpdated'] as const)
      .filter(differs)
      .map((field) => ({ kind, id, class: 'sort-key' as const, field })),
    ...(differs('pending') ? [{ kind, id, class: 'pending' as const, field: 'pending' }] : []),
  ];
}

function fieldsOf(before: object = {}, after: object = {}, path: string): string[] {
  const [one, other] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .filter((name) => !isDeepStrictEqual(one[name] ?? null, other[name] ?? null))
    .map((name) => `${path}.${name}`);
}

type Retained = { retainUntil?: Date | null };

/** The document as readers may see it at `now`; null once it has expired. */
function visible(kind: Kind, document: Seen, now: Date): Seen | null {
  if (document.state === undefined) return null;
  if (kind === 'conversation') {
    const { channel } = (document.joined ?? {}) as { channel?: { dataRetentionDays?: number | null } | null };
    const until = retainUntil(document.state.updatedAt as Date, channel?.dataRetentionDays ?? null);
    return isExpired(until, now) ? null : document;
  }
  if (kind !== 'ticket') return document;
  const joined = document.joined as { conversations?: Retained[] } | undefined;
  const conversations = (joined?.conversations ?? []).filter((one) => !isExpired(one.retainUntil, now));
  return { ...document, joined: { ...joined, conversations } };
}

/** Whether a difference is one of those that are intended. */
export const isExpected = (difference: Difference, expectations: Expectation[]): boolean =>
  expectations.some(
    ({ kind, field }) =>
      (kind === '*' || kind === difference.kind) &&
      (field === difference.class || difference.field === field || difference.field.startsWith(`${field}.`)),
  );
