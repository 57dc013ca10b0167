import type { Db } from 'mongodb';
import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { counted, orMore } from '../../shared/runtime/counted.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type NotCounted, readOptional } from './optional.ts';

/** Pending conversations are counted only up to this number, which bounds the time of a count. */
const countMax = 10_000;

export type Counts = {
  /** Estimates by collection, tombstones included; null if MongoDB did not count them. */
  documents: Record<string, number> | null;
  /** Conversations without their channel; null if MongoDB did not count them. */
  pending: { conversations: number | null };
  notCounted: NotCounted[];
};

/**
 * Counts the documents of a generation, and its pending conversations up to `countMax`. MongoDB reads its statistics
 * and an index for this, and scans no collection, so its work does not grow with the data.
 */
export async function readCounts(database: Db): Promise<Counts> {
  const notCounted: NotCounted[] = [];
  const conversationCollection = collectionOf(database, 'conversation');
  const [documents, conversations] = await Promise.all([
    readOptional(notCounted, 'documents', () => estimateDocuments(database)),
    readOptional(notCounted, 'pending conversations', () =>
      conversationCollection.countDocuments({ pending: true }, { limit: countMax, hint: 'pending' }),
    ),
  ]);
  return { documents, pending: { conversations }, notCounted };
}

/** Estimates by collection, tombstones included. */
export async function estimateDocuments(database: Db): Promise<Record<string, number>> {
  const estimate = async (kind: Kind): Promise<[string, number]> => [
    resources[kind].collection,
    await collectionOf(database, kind).estimatedDocumentCount(),
  ];
  return Object.fromEntries(await Promise.all(kinds.map(estimate)));
}

export const pendingText = ({ conversations }: Counts['pending']): string =>
  conversations === null
    ? 'conversations not counted'
    : `${counted(conversations, 'conversation')}${orMore(conversations, countMax)}`;
