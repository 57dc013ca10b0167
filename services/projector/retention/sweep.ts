import type { Collection, Db, Filter } from 'mongodb';
import type { Channel } from '../../../shared/documents/channel.ts';
import type { Conversation } from '../../../shared/documents/conversation.ts';
import { sortKey } from '../../../shared/documents/instant.ts';
import { dayMs, expiredUpTo } from '../../../shared/documents/retention.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { deadLettersOf } from '../dead-letters/collection.ts';
import { eraseDeadLetters } from '../dead-letters/erase.ts';
import { refOf } from '../materialize/edges.ts';
import type { StoredDocument } from '../materialize/store.ts';

/** Documents freed at a time. Limits the memory of a sweep, and the duration of one command in the store. */
const pageSize = 500;

export type SweepDeps = {
  database: Db;
  control: Db;
  prefix: string;
  /** The watermark: every change up to this instant has been applied. */
  asOf: Date;
  now: () => Date;
  tombstoneDays: number;
  signal: AbortSignal;
};

/** Numbers of freed documents. */
export type Swept = { conversations: number; messages: number };

type ChannelRow = { _id: string; orgId: string; state: Pick<Channel, 'dataRetentionDays'> };
type Row = { _id: string; state: Pick<Conversation, 'updatedAt'> };

/**
 * Frees messages and conversations whose retention has passed, and messages whose conversation has not come within
 * `tombstoneDays`. No reader sees them: the API hides them by the clock. A freed document keeps its version for
 * `tombstoneDays`: Invariant 12 in docs/internals/consistency.md.
 */
export async function sweep(deps: SweepDeps): Promise<Swept> {
  const swept: Swept = { conversations: 0, messages: 0 };
  const channels = collectionOf<StoredDocument>(deps.database, 'channel')
    .find({ 'state.dataRetentionDays': { $gt: 0 } })
    .project<ChannelRow>({ orgId: 1, 'state.dataRetentionDays': 1 });
  for await (const channel of channels) await sweepChannel(deps, channel, swept);
  swept.messages += await sweepOrphans(deps);
  return swept;
}

async function sweepChannel(
  deps: SweepDeps,
  { _id: id, orgId, state }: ChannelRow,
  swept: Swept,
): Promise<void> {
  const upTo = expiredUpTo(state.dataRetentionDays, deps.asOf);
  if (upTo === null) return;
  const conversations = collectionOf<StoredDocument>(deps.database, 'conversation');
  for (let after = ''; ;) {
    deps.signal.throwIfAborted();
    const page = await conversations
      .find({ refs: refOf('channel', id), orgId, _id: { $gt: after } }, { hint: 'references' })
      .project<Row>({ 'state.updatedAt': 1 })
      .sort({ _id: 1 })
      .limit(pageSize)
      .toArray();
    const last = page.at(-1);
    if (!last) return;
    after = last._id;
    const ids = page.map(({ _id }) => _id);
    swept.messages += await sweepMessages(deps, orgId, ids, upTo);
    const expired = page.filter(({ state: { updatedAt } }) => updatedAt <= upTo).map(({ _id }) => _id);
    if (expired.length > 0)
      swept.conversations += await sweepConversations(deps, { id, orgId }, expired, upTo);
  }
}

async function sweepMessages(deps: SweepDeps, orgId: string, ids: string[], upTo: Date): Promise<number> {
  const messages = collectionOf<StoredDocument>(deps.database, 'message');
  // The first sort key after the expired messages.
  const byCreated = { $lt: sortKey(new Date(upTo.getTime() + 1), '') };
  const filter = { 'state.conversationId': { $in: ids }, orgId, byCreated };
  let freed = 0;
  for (;;) {
    deps.signal.throwIfAborted();
    const page = await messages
      .find(filter, { hint: 'thread' })
      .project({ _id: 1 })
      .limit(pageSize)
      .toArray();
    if (page.length === 0) return freed;
    freed += await free(deps, messages, { ...filter, _id: { $in: page.map(({ _id }) => String(_id)) } });
  }
}

/**
 * Erases the expired dead letters of expired conversations, and frees the conversations that have no messages and no
 * dead letters left. Without its conversation, nothing tells when a younger dead letter expires.
 */
async function sweepConversations(
  deps: SweepDeps,
  { id, orgId }: { id: string; orgId: string },
  expired: string[],
  upTo: Date,
): Promise<number> {
  await eraseDeadLetters(
    deps,
    expired.map((conversationId) => ({
      ...{ kind: 'conversation', id: conversationId },
      covers: ({ timestampMs }) => timestampMs <= upTo.getTime(),
    })),
  );
  const inUse = await collectionOf<StoredDocument>(deps.database, 'message')
    .aggregate<{ _id: string }>(
      [
        { $match: { 'state.conversationId': { $in: expired }, orgId, byCreated: { $gte: '' } } },
        { $group: { _id: '$state.conversationId' } },
      ],
      { hint: 'thread' },
    )
    .toArray();
  const inDeadLetters = await deadLettersOf(deps.control)
    .aggregate<{ _id: string }>([
      { $match: { subjects: { $in: expired } } },
      { $unwind: '$subjects' },
      { $match: { subjects: { $in: expired } } },
      { $group: { _id: '$subjects' } },
    ])
    .toArray();
  const isInUse = new Set([...inUse, ...inDeadLetters].map(({ _id }) => _id));
  const unused = expired.filter((conversationId) => !isInUse.has(conversationId));
  const conversations = collectionOf<StoredDocument>(deps.database, 'conversation');
  const filter = {
    _id: { $in: unused },
    orgId,
    refs: refOf('channel', id),
    'state.updatedAt': { $lte: upTo },
  };
  const freed = await free(deps, conversations, filter);
  // A message that arrived since the check is an orphan from now on. The mark bumps the revision: a refresh that read
  // the conversation before it was freed is not rechecked, and must not write the message without the mark.
  const lateMessages = { 'state.conversationId': { $in: unused }, orgId, orphanedAt: { $exists: false } };
  if (unused.length > 0)
    await collectionOf<StoredDocument>(deps.database, 'message').updateMany(
      lateMessages,
      { $set: { orphanedAt: deps.now() }, $inc: { revision: 1 } },
      { hint: 'thread' },
    );
  return freed;
}

/**
 * Frees messages that have waited `tombstoneDays` for their conversation. A compacted log may hold them long after the
 * last record of their conversation was removed.
 */
async function sweepOrphans(deps: SweepDeps): Promise<number> {
  const messages = collectionOf<StoredDocument>(deps.database, 'message');
  const orphanedAt = { $lte: new Date(deps.asOf.getTime() - deps.tombstoneDays * dayMs) };
  let freed = 0;
  for (;;) {
    deps.signal.throwIfAborted();
    const page = await messages
      .find({ orphanedAt }, { hint: 'orphaned' })
      .project({ _id: 1 })
      .limit(pageSize)
      .toArray();
    if (page.length === 0) return freed;
    freed += await free(deps, messages, { _id: { $in: page.map(({ _id }) => String(_id)) }, orphanedAt });
  }
}

/** Removes the state of each document that the filter still matches. */
async function free(
  { now, tombstoneDays }: SweepDeps,
  collection: Collection<StoredDocument>,
  filter: Filter<StoredDocument>,
): Promise<number> {
  const { modifiedCount } = await collection.updateMany(filter, {
    $unset: {
      ...{ state: '', joined: '', refs: '', byCreated: '', byUpdated: '' },
      ...{ pending: '', orphanedAt: '', fanOutCursor: '' },
    },
    $set: { expiresAt: new Date(now().getTime() + tombstoneDays * dayMs) },
    $inc: { revision: 1 },
  });
  return modifiedCount;
}
