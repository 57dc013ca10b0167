import type { Db } from 'mongodb';
import { keyAbove } from '../../../shared/documents/instant.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { deadLettersOf } from '../../../shared/control/dead-letters.ts';
import { eraseDeadLetters } from '../dead-letters/erase.ts';
import { refOf } from '../materialize/edges.ts';
import { envelope } from '../materialize/mongo-store.ts';
import type { StoredDocument, StoredEnvelope } from '../materialize/store.ts';
import type { SweepStore } from './sweep.ts';

/** Documents of a page. Limits the memory of a sweep, and the duration of one command in the store. */
const pageSize = 500;

/** The fields of the retention: of a channel, and of a deleted one. */
const retentions = ['state.dataRetentionDays', 'dataRetentionDays'] as const;

type DeadLetterDeps = Parameters<typeof eraseDeadLetters>[0];
type ReadsDocuments = 'readChannels' | 'readRetention' | 'readConversations';
type ReadsDeadLetters = 'readInDeadLetters' | 'eraseDeadLetters';

/** The conversations of a channel after a sort key that were created up to an instant. */
export const createdCursor = (
  database: Db,
  { id, orgId }: { id: string; orgId: string },
  after: string,
  createdUpTo: Date,
) =>
  collectionOf<StoredDocument>(database, 'conversation')
    .find({ 'state.channelId': id, orgId, byCreated: { $gt: after, $lt: keyAbove(createdUpTo) } })
    .sort({ byCreated: 1 });

/** The sweep's reads from one generation's database, and from the dead letters in the control database. */
export const mongoSweepStore = ({ database, ...deps }: { database: Db } & DeadLetterDeps): SweepStore => ({
  ...expiring(database),
  ...expiringMessages(database),
  ...deadLetters(deps),
});

function expiring(database: Db): Pick<SweepStore, ReadsDocuments> {
  const channels = collectionOf<StoredDocument>(database, 'channel');
  return {
    readChannels: async (after) => {
      const found = await channels
        .find({ _id: { $gt: after }, $or: retentions.map((field) => ({ [field]: { $gt: 0 } })) })
        .project<{ _id: string; orgId: string }>({ orgId: 1 })
        .sort({ _id: 1 })
        .limit(pageSize)
        .toArray();
      return found.map(({ _id, orgId }) => ({ id: _id, orgId }));
    },
    readRetention: async (id) => {
      const projection = Object.fromEntries(retentions.map((field) => [field, 1]));
      const found = await channels.findOne({ _id: id }, { projection });
      return ((found?.state ?? found)?.dataRetentionDays ?? null) as number | null;
    },
    readConversations: async (channel, after, createdUpTo) => {
      type Found = StoredEnvelope & { state?: { updatedAt: Date }; byCreated?: string };
      const { id, orgId } = channel;
      const cursor = createdUpTo
        ? createdCursor(database, channel, after, createdUpTo)
        : collectionOf<StoredDocument>(database, 'conversation')
            .find({ refs: refOf('channel', id), orgId, _id: { $gt: after } }, { hint: 'references' })
            .sort({ _id: 1 });
      const found = await cursor
        .project<Found>({ ...envelope, 'state.updatedAt': 1, byCreated: 1 })
        .limit(pageSize)
        .toArray();
      return found.map(({ state, byCreated = '', ...conversation }) => ({
        ...conversation,
        ...state,
        key: createdUpTo ? byCreated : conversation._id,
      }));
    },
  };
}

function expiringMessages(database: Db): Omit<SweepStore, ReadsDocuments | ReadsDeadLetters> {
  const messages = collectionOf<StoredDocument>(database, 'message');
  return {
    readExpiredMessages: (orgId, conversationIds, upTo) => {
      const byCreated = { $lt: keyAbove(upTo) };
      return messages
        .find({ 'state.conversationId': { $in: conversationIds }, orgId, byCreated })
        .project<StoredEnvelope>(envelope)
        .limit(pageSize)
        .toArray();
    },
    readWithMessages: async (orgId, conversationIds) => {
      const living = { 'state.conversationId': { $in: conversationIds }, orgId, byCreated: { $gte: '' } };
      const found = await messages
        .aggregate<{ _id: string }>([{ $match: living }, { $group: { _id: '$state.conversationId' } }])
        .toArray();
      return new Set(found.map(({ _id }) => _id));
    },
    readOrphans: async (upTo) => {
      const found = await messages
        .find({ orphanedAt: { $lte: upTo } })
        .project<StoredEnvelope & { state: { conversationId: string } }>({
          ...envelope,
          'state.conversationId': 1,
        })
        .limit(pageSize)
        .toArray();
      return found.map(({ state, ...message }) => ({ ...message, ...state }));
    },
    waitAgain: async (orphans, upTo, from) => {
      const ids = orphans.map(({ _id }) => _id);
      await messages.updateMany(
        { _id: { $in: ids }, orphanedAt: { $lte: upTo } },
        { $set: { orphanedAt: from }, $inc: { revision: 1 } },
      );
    },
  };
}

const deadLetters = (deps: DeadLetterDeps): Pick<SweepStore, ReadsDeadLetters> => ({
  readInDeadLetters: async (conversationIds) => {
    const subjects = { $match: { subjects: { $in: conversationIds } } };
    const found = await deadLettersOf(deps.control)
      .aggregate<{ _id: string }>([
        ...[subjects, { $unwind: '$subjects' }, subjects],
        { $group: { _id: '$subjects' } },
      ])
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  },
  eraseDeadLetters: async (conversationIds, upTo) => {
    await eraseDeadLetters(
      deps,
      conversationIds.map((id) => ({
        kind: 'conversation',
        id,
        covers: ({ timestampMs }) => timestampMs <= upTo.getTime(),
      })),
      'the retention',
    );
  },
});
