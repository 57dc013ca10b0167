import type { Db } from 'mongodb';
import { recordId } from '../../../shared/control/ledger.ts';
import { readSpans, unappliedRecords } from '../../../shared/control/ledger-store.ts';
import { recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { keyAbove } from '../../../shared/documents/instant.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { eraseDeadLetters, type EraseDeps, type Erasure } from '../dead-letters/erase.ts';
import { idIn, refOf } from '../materialize/edges.ts';
import { guardOf, unreadableField } from '../materialize/envelope.ts';
import { envelopeProjection } from '../materialize/mongo-store.ts';
import type { Guard, StoredDocument, StoredEnvelope } from '../materialize/store.ts';

/** The most documents of a page. This limits the memory of a sweep, and the duration of one command. */
const pageSize = 500;

/** A living channel has its retention in the state, a deleted one beside it. */
const hasRetention = [{ 'state.dataRetentionDays': { $gt: 0 } }, { dataRetentionDays: { $gt: 0 } }];
const retentionProjection = { 'state.dataRetentionDays': 1, dataRetentionDays: 1 } as const;

/** A channel, or the tombstone of one, with a retention above 0 days. */
export type ExpiringChannel = { id: string; orgId: string };

/**
 * A conversation, and its key in the order of the read. `updatedAt` is absent if a sweep has purged the state. That
 * sweep may not have refreshed the dependents.
 */
export type ExpiringConversation = Sweepable & { updatedAt?: Date; key: string };

/** A document to purge: the fields that its envelope keeps, and the guard of the purge. */
export type Sweepable = Pick<
  StoredEnvelope,
  '_id' | 'orgId' | 'version' | 'position' | 'tombstonePosition'
> & { guard: Guard };

/** A message that waits for its conversation. */
export type Orphan = Sweepable & { conversationId: string };

/** The sweep's reads of channels and their conversations. */
type SweptConversations = {
  /** Reads living and deleted channels after an id, in the order of their ids. */
  readChannels: (after: string) => Promise<ExpiringChannel[]>;
  /** Reads the retention of a living or deleted channel, in days; null without a retention. */
  readRetention: (id: string) => Promise<number | null>;
  /**
   * Reads conversations of a channel after a key, in the order of their keys. With an instant, reads only conversations
   * that have a state and were created up to this instant.
   */
  readConversations: (
    channel: ExpiringChannel,
    after: string,
    createdUpTo: Date | null,
  ) => Promise<ExpiringConversation[]>;
};

/** The sweep's reads of messages, and the mark of waiting messages. */
type SweptMessages = {
  /** Reads messages of these conversations that were created up to an instant, in no order. */
  readExpiredMessages: (orgId: string, conversationIds: string[], upTo: Date) => Promise<Sweepable[]>;
  /** Reads which of these conversations have messages. */
  readIdsWithMessages: (orgId: string, conversationIds: string[]) => Promise<Set<string>>;
  /** Reads messages that have waited for their conversation since an instant or earlier, in no order. */
  readOrphans: (upTo: Date) => Promise<Orphan[]>;
  /** Starts the wait of messages again that have waited since `upTo` or earlier, by setting these fields. */
  waitAgain: (orphans: Orphan[], upTo: Date, fields: { orphanedAt: Date; revision: number }) => Promise<void>;
};

/** The sweep's work on dead letters. */
type SweptDeadLetters = {
  /** Whether a dead letter of the conversations has no stored bytes. It may then be about any conversation. */
  hasUnnamedConversations: () => Promise<boolean>;
  /** Reads which of these conversations dead letters name. */
  readIdsInDeadLetters: (conversationIds: string[]) => Promise<Set<string>>;
  /** Erases the dead letters about conversations whose records were published up to an instant. */
  eraseDeadLetters: (conversationIds: string[], upTo: Date) => Promise<void>;
};

/** The port of the sweep. Each read returns one bounded page. */
export type SweepStore = SweptConversations & SweptMessages & SweptDeadLetters;

/** Replaces an unreadable envelope by that of an unknown entity. The next record of the entity then restores it. */
function sweepable(stored: StoredEnvelope): Sweepable {
  const { _id, orgId, version, position, tombstonePosition } = stored;
  const guard = guardOf(stored);
  if (unreadableField(stored) !== null)
    return { _id, orgId: typeof orgId === 'string' ? orgId : null, version: 0, position: null, guard };
  const document: Sweepable = { _id, orgId, version, position, guard };
  if (tombstonePosition) document.tombstonePosition = tombstonePosition;
  return document;
}

/** The conversations of a channel after a sort key that were created up to an instant. */
export const createdCursor = (database: Db, { id, orgId }: ExpiringChannel, after: string, upTo: Date) =>
  collectionOf<StoredDocument>(database, 'conversation')
    .find({ 'state.channelId': id, orgId, byCreated: { $gt: after, $lt: keyAbove(upTo) } })
    .sort({ byCreated: 1 });

/** All conversations of a channel after an id, purged ones included. */
const idCursor = (database: Db, { id, orgId }: ExpiringChannel, after: string) =>
  collectionOf<StoredDocument>(database, 'conversation')
    .find({ refs: refOf('channel', id), orgId, _id: { $gt: after } }, { hint: 'references' })
    .sort({ _id: 1 });

/**
 * The sweep's reads from one generation's database, and from the dead letters in the control database, each of one
 * bounded page. Every read sees every acknowledged write. The sweep writes documents through the engine's `Store`.
 */
export const mongoSweepStore = (deps: EraseDeps & { database: Db }): SweepStore => ({
  ...expiringConversations(deps.database),
  ...expiringMessages(deps.database),
  ...deadLettersOf(deps),
});

function expiringConversations(database: Db): SweptConversations {
  const channels = collectionOf<StoredDocument>(database, 'channel');
  return {
    readChannels: async (after) => {
      const found = await channels
        .find({ _id: { $gt: after }, $or: hasRetention })
        .project<{ _id: string; orgId: string }>({ orgId: 1 })
        .sort({ _id: 1 })
        .limit(pageSize)
        .toArray();
      return found.map(({ _id, orgId }) => ({ id: _id, orgId }));
    },
    readRetention: async (id) => {
      const channel = await channels.findOne({ _id: id }, { projection: retentionProjection });
      if (!channel) return null;
      const { dataRetentionDays = null } = channel.state ?? channel;
      return dataRetentionDays as number | null;
    },
    readConversations: async (channel, after, createdUpTo) => {
      type Found = StoredEnvelope & { state?: { updatedAt?: unknown }; byCreated?: string };
      const cursor = createdUpTo
        ? createdCursor(database, channel, after, createdUpTo)
        : idCursor(database, channel, after);
      const found = await cursor
        .project<Found>({ ...envelopeProjection, 'state.updatedAt': 1, byCreated: 1 })
        .limit(pageSize)
        .toArray();
      return found.map((stored) => {
        const key = createdUpTo ? (stored.byCreated ?? '') : stored._id;
        const conversation: ExpiringConversation = { ...sweepable(stored), key };
        if (stored.state) conversation.updatedAt = updatedAtOf(stored.state);
        return conversation;
      });
    },
  };
}

/** The latest date of JavaScript. */
const latestDate = new Date(8.64e15);

/** Returns `latestDate` if an edit by hand has removed the time. The conversation then never expires. */
const updatedAtOf = ({ updatedAt }: { updatedAt?: unknown }): Date =>
  updatedAt instanceof Date ? updatedAt : latestDate;

function expiringMessages(database: Db): SweptMessages {
  const messages = collectionOf<StoredDocument>(database, 'message');
  return {
    readExpiredMessages: async (orgId, conversationIds, upTo) => {
      const byCreated = { $lt: keyAbove(upTo) };
      const found = await messages
        .find({ 'state.conversationId': { $in: conversationIds }, orgId, byCreated })
        .project<StoredEnvelope>(envelopeProjection)
        .limit(pageSize)
        .toArray();
      return found.map(sweepable);
    },
    readIdsWithMessages: async (orgId, conversationIds) => {
      const living = { 'state.conversationId': { $in: conversationIds }, orgId, byCreated: { $gte: '' } };
      const found = await messages
        .aggregate<{ _id: string }>([{ $match: living }, { $group: { _id: '$state.conversationId' } }])
        .toArray();
      return new Set(found.map(({ _id }) => _id));
    },
    readOrphans: async (upTo) => {
      type FoundOrphan = StoredEnvelope & Pick<StoredDocument, 'state'>;
      const found = await messages
        .find({ orphanedAt: { $lte: upTo } })
        .project<FoundOrphan>({ ...envelopeProjection, 'state.conversationId': 1 })
        .limit(pageSize)
        .toArray();
      return found.map((message) => ({
        ...sweepable(message),
        conversationId: idIn(message.state, 'conversationId'),
      }));
    },
    waitAgain: async (orphans, upTo, fields) => {
      const ids = orphans.map(({ _id }) => _id);
      await messages.updateMany({ _id: { $in: ids }, orphanedAt: { $lte: upTo } }, { $set: fields });
    },
  };
}

const deadLettersOf = (deps: EraseDeps): SweptDeadLetters => ({
  hasUnnamedConversations: async () => {
    for await (const span of readSpans(deps.control, { topic: topicOf('conversation', deps.prefix) })) {
      const ids = unappliedRecords(span).map(recordId);
      const named = await recordBytesOf(deps.control).countDocuments({ _id: { $in: ids } });
      if (named < ids.length) return true;
    }
    return false;
  },
  readIdsInDeadLetters: async (conversationIds) => {
    const matchSubjects = { $match: { subjects: { $in: conversationIds } } };
    // The second match leaves out the other subjects of the same dead letters.
    const pipeline = [
      matchSubjects,
      { $unwind: '$subjects' },
      matchSubjects,
      { $group: { _id: '$subjects' } },
    ];
    const found = await recordBytesOf(deps.control).aggregate<{ _id: string }>(pipeline).toArray();
    return new Set(found.map(({ _id }) => _id));
  },
  eraseDeadLetters: (conversationIds, upTo) => {
    const covers: Erasure['covers'] = ({ timestampMs }) => timestampMs <= upTo.getTime();
    const erasures = conversationIds.map((id): Erasure => ({ kind: 'conversation', id, covers }));
    return eraseDeadLetters(deps, erasures, 'the retention');
  },
});
