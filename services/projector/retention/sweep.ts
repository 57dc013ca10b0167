import { dayMs } from '../../../shared/documents/instant.ts';
import { expiredUpTo } from '../../../shared/documents/visibility.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import { refOf } from '../materialize/edges.ts';
import { refreshAll, updateDependents, type UpdateDeps } from '../materialize/fan-out.ts';
import type { StoredDocument, Write } from '../materialize/store.ts';
import type {
  ExpiringChannel,
  ExpiringConversation,
  Orphan,
  Sweepable,
  SweepStore,
} from './mongo-sweep-store.ts';

/** The most pages of a channel that are swept before the next channel. This limits the wait of the other channels. */
const pagesPerSlice = 20;

export type SweepDeps = UpdateDeps & {
  sweepStore: SweepStore;
  /** The watermark, but never later than MongoDB's time: every change up to this instant has been applied. */
  asOf: Date;
  /**
   * Whether to read all conversations of the channels with a retention. Otherwise the sweep reads only conversations
   * that were created early enough to have expired. Such a sweep misses interrupted purges, and old messages of later
   * conversations.
   */
  isComplete: boolean;
};

/** How many documents were purged. */
type Swept = { conversations: number; messages: number };

/** The remaining part of a channel: its conversations after a key. */
type Slice = { channel: ExpiringChannel; after: string };

/**
 * Purges (1) messages that have waited `tombstoneDays` for their conversation; (2) expired messages and conversations,
 * also of deleted channels. The API hides expired data earlier, by the clock. A purged document keeps its version for
 * `tombstoneDays`. Two sweeps at the same time purge no more than one: Invariant 12 in docs/internals/retention.md.
 */
export async function sweep(deps: SweepDeps): Promise<Swept> {
  const swept: Swept = { conversations: 0, messages: await sweepOrphans(deps) };
  const unfinished: Slice[] = [];
  const sweepSlice = async (slice: Slice) => {
    const next = await sweepChannel(deps, slice, swept);
    if (next) unfinished.push(next);
  };
  let channels = await deps.sweepStore.readChannels('');
  while (channels.length > 0) {
    for (const channel of channels) await sweepSlice({ channel, after: '' });
    channels = await deps.sweepStore.readChannels(channels.at(-1)?.id ?? '');
  }
  let slice = unfinished.shift();
  while (slice) {
    await sweepSlice(slice);
    slice = unfinished.shift();
  }
  return swept;
}

/** Sweeps some pages of a channel. Returns its next slice; null at the end of the channel. */
async function sweepChannel(deps: SweepDeps, { channel, after }: Slice, swept: Swept): Promise<Slice | null> {
  let sweptTo = after;
  for (let pages = 0; pages < pagesPerSlice; pages += 1) {
    deps.signal.throwIfAborted();
    deps.onProgress();
    const upTo = await readExpiredUpTo(deps, channel);
    if (upTo === null) return null;
    const page = await deps.sweepStore.readConversations(channel, sweptTo, deps.isComplete ? null : upTo);
    const last = page.at(-1);
    if (!last) return null;
    const ids = page.map(({ _id }) => _id);
    const messages = await deps.sweepStore.readExpiredMessages(channel.orgId, ids, upTo);
    const purged = await purge(deps, 'message', messages);
    swept.messages += purged.length;
    // Reads the same conversations again, because they may have more messages. If no message could be purged, the
    // remaining ones wait for the next sweep.
    if (purged.length > 0) continue;
    swept.conversations += await sweepConversations(deps, channel, page, upTo);
    sweptTo = last.key;
  }
  return { channel, after: sweptTo };
}

/**
 * Reads the retention for each page: it may be raised during a long sweep. The API then serves the documents again, so
 * the sweep must not purge them.
 */
async function readExpiredUpTo({ sweepStore, asOf }: SweepDeps, { id }: ExpiringChannel) {
  const dataRetentionDays = await sweepStore.readRetention(id);
  return expiredUpTo({ dataRetentionDays }, asOf);
}

/**
 * Erases the expired dead letters of expired conversations, and purges the conversations that have no messages and no
 * dead letters left. A younger dead letter needs its conversation to decide when it expires.
 */
async function sweepConversations(
  deps: SweepDeps,
  { id, orgId }: ExpiringChannel,
  page: ExpiringConversation[],
  upTo: Date,
): Promise<number> {
  const { sweepStore } = deps;
  const expired = page.filter(({ updatedAt }) => updatedAt && updatedAt <= upTo);
  const purgeable = await erasePurgeable(sweepStore, orgId, expired, upTo);
  // The reference stays until the dependents are refreshed. After a crash, the next sweep finds the conversation by it.
  const purged = await purge(deps, 'conversation', purgeable, [refOf('channel', id)]);
  const interrupted = page.filter(({ updatedAt }) => updatedAt === undefined);
  const toRefresh = [...purged, ...interrupted];
  const changed = toRefresh.map(({ _id, version, tombstonePosition }) => ({
    id: _id,
    version,
    tombstonePosition,
    before: null,
  }));
  await updateDependents(deps, 'conversation', changed);
  await purge(deps, 'conversation', toRefresh);
  return purged.length;
}

/** Erases the expired dead letters of these conversations. Returns those that nothing needs any longer. */
async function erasePurgeable(
  sweepStore: SweepStore,
  orgId: string,
  expired: ExpiringConversation[],
  upTo: Date,
): Promise<ExpiringConversation[]> {
  if (expired.length === 0) return [];
  const ids = expired.map(({ _id }) => _id);
  await sweepStore.eraseDeadLetters(ids, upTo);
  const namedIds = await sweepStore.readIdsInDeadLetters(ids);
  const idsWithMessages = await sweepStore.readIdsWithMessages(orgId, ids);
  return expired.filter(({ _id }) => !namedIds.has(_id) && !idsWithMessages.has(_id));
}

/**
 * Purges messages that have waited `tombstoneDays` for their conversation. A compacted log may keep messages long after
 * it has lost the last record of their conversation. While a dead letter may bring the conversation, its messages wait
 * again.
 */
async function sweepOrphans(deps: SweepDeps): Promise<number> {
  const { store, sweepStore } = deps;
  const upTo = new Date(deps.asOf.getTime() - deps.tombstoneDays * dayMs);
  let purged = 0;
  // Each read returns again the messages that this sweep could not change. They wait for the next sweep.
  const seen = new Set<string>();
  for (;;) {
    deps.signal.throwIfAborted();
    deps.onProgress();
    const found = await sweepStore.readOrphans(upTo);
    const orphans = found.filter(({ _id }) => !seen.has(_id));
    if (orphans.length === 0) return purged;
    for (const { _id } of orphans) seen.add(_id);
    const ids = [...new Set(orphans.map(({ conversationId }) => conversationId))];
    // Dead letters first, because a redrive writes the conversation before it removes the dead letter. In the other
    // order, the sweep could see neither of them.
    const namedIds = await sweepStore.readIdsInDeadLetters(ids);
    const isAnyUnnamed = await sweepStore.hasUnnamedConversations();
    const conversations = await store.readEnvelopes('conversation', ids);
    const living = conversations.filter(({ state }) => state !== undefined);
    const orgIdOfLiving = new Map(living.map(({ _id, orgId }) => [_id, orgId]));
    const marked: Orphan[] = [];
    const waiting: Orphan[] = [];
    const lost: Orphan[] = [];
    for (const orphan of orphans) {
      const { orgId, conversationId } = orphan;
      if (orgIdOfLiving.get(conversationId) === orgId) marked.push(orphan);
      else if (isAnyUnnamed || namedIds.has(conversationId)) waiting.push(orphan);
      else lost.push(orphan);
    }
    // A refresh removes the mark of a message whose conversation exists.
    const markedIds = marked.map(({ _id }) => _id);
    await refreshAll(deps, 'message', markedIds);
    // A message whose refresh the store refuses keeps its mark.
    const waitingAgain = [...marked, ...waiting].filter(({ guard }) => typeof guard === 'number');
    if (waitingAgain.length > 0)
      await sweepStore.waitAgain(waitingAgain, upTo, { orphanedAt: deps.now(), revision: newRevision() });
    const purgedMessages = await purge(deps, 'message', lost);
    purged += purgedMessages.length;
  }
}

/**
 * Removes the state of documents, unless another client has written them since the read, or the store refuses. Keeps
 * `refs` in the purged documents, if given. Returns the purged documents with their new guards.
 */
async function purge(
  { store, now, tombstoneDays, onNotRefreshed }: SweepDeps,
  kind: 'conversation' | 'message',
  documents: Sweepable[],
  refs?: string[],
): Promise<Sweepable[]> {
  const expiresAt = new Date(now().getTime() + tombstoneDays * dayMs);
  const writes: Write[] = [];
  const withNewGuards: Sweepable[] = [];
  for (const { guard, ...kept } of documents) {
    const { _id, orgId, version, position, tombstonePosition } = kept;
    const revision = newRevision();
    const document: StoredDocument = { _id, orgId, version, revision, position, expiresAt };
    if (tombstonePosition) document.tombstonePosition = tombstonePosition;
    if (refs) document.refs = refs;
    writes.push({ op: 'put', document, guard });
    withNewGuards.push({ ...kept, guard: revision });
  }
  const { conflicted, refused } = await store.write(kind, writes);
  for (const [id, reason] of refused) onNotRefreshed(kind, id, reason);
  return withNewGuards.filter(({ _id }) => !conflicted.has(_id) && !refused.has(_id));
}
