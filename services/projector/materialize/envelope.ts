import { z } from 'zod';
import type { Guard, ReferencedEntity, UnreadableDocument } from './store.ts';

const wholeNumber = z.int().min(0);
/** The partition is -1 if the log has lost the record. */
const position = z.object({ partition: z.int().min(-1), offset: wholeNumber, timestampMs: z.int() });

/** The fields on which the engine relies. Only an edit by hand breaks them, because the engine writes no other form. */
const envelopeSchema = z
  .object({
    orgId: z.string().nullable(),
    version: wholeNumber,
    revision: wholeNumber,
    position: position.nullable(),
    tombstonePosition: position.optional(),
    deletedByEvent: z.literal(true).optional(),
    deletedAt: z.date().optional(),
    expiresAt: z.date().optional(),
    dataRetentionDays: z.number().min(0).optional(),
    refs: z.array(z.string()).optional(),
    orphanedAt: z.date().optional(),
    fanOutCursor: z.object({ from: z.string(), edge: z.string(), after: z.string() }).optional(),
    state: z.record(z.string(), z.unknown()).optional(),
  })
  // Without its organization a living entity would count as deleted.
  .refine(({ orgId, state }) => orgId !== null || !state, { path: ['orgId'] });

/** Returns the field of a document's envelope that is missing or has a wrong type; null if all fields are readable. */
export function unreadableField(document: object): string | null {
  const { error } = envelopeSchema.safeParse(document);
  if (!error) return null;
  // An issue without a path would be about the document itself, which MongoDB stores only as an object.
  return String(error.issues[0]?.path[0] ?? 'state');
}

/** Accepts the values of `wholeNumber`. Written by hand, because zod would create objects for each reference. */
export const isRevision = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** The guard of a write that replaces a stored document. */
export const guardOf = ({ revision }: { revision?: unknown }): Guard =>
  isRevision(revision) ? revision : { unreadable: revision };

/** Splits stored documents into readable and unreadable ones. */
export function readEnvelopes<T extends { _id: string; revision: unknown }>(stored: T[]) {
  const documents: T[] = [];
  const unreadable: UnreadableDocument[] = [];
  for (const document of stored) {
    const field = unreadableField(document);
    if (field === null) documents.push(document);
    else unreadable.push({ _id: document._id, field, guard: guardOf(document) });
  }
  return { documents, unreadable };
}

/**
 * Returns the readable part of an entity that other documents embed. An entity without a readable revision counts as
 * missing (null), at the recheck as well. If only its time of deletion is unreadable, its state is left out, because
 * the entity may be deleted.
 */
export function readReferenced(stored: ReferencedEntity): ReferencedEntity | null {
  const { _id, orgId, revision, deletedAt } = stored;
  if (!isRevision(revision)) return null;
  return deletedAt === undefined || deletedAt instanceof Date ? stored : { _id, orgId, revision };
}
