import { dayMs } from '../../../shared/documents/instant.ts';
import { expiredUpTo } from '../../../shared/documents/visibility.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import { refOf } from '../materialize/edges.ts';
import { refreshAll, updateDependents, type UpdateDeps } from '../materialize/fan-out.ts';
import type { Write } from '../materialize/store.ts';
import type { ExpiringChannel, ExpiringConversation, Sweepable, SweepStore } from './mongo-sweep-store.ts';

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
const readExpiredUpTo = async ({ sweepStore, asOf }: SweepDeps, { id }: ExpiringChannel) =>
  expiredUpTo({ dataRetentionDays: await sweepStore.readRetention(id) }, asOf);

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
  const ids = expired.map(({ _id }) => _id);
  if (ids.length > 0) await sweepStore.eraseDeadLetters(ids, upTo);
  const namedIds = ids.length > 0 ? await sweepStore.readIdsInDeadLetters(ids) : new Set();
  const idsWithMessages = ids.length > 0 ? await sweepStore.readIdsWithMessages(orgId, ids) : new Set();
  const purgeable = expired.filter(({ _id }) => !namedIds.has(_id) && !idsWithMessages.has(_id));
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
    const living = new Map(conversations.flatMap(({ _id, orgId, state }) => (state ? [[_id, orgId]] : [])));
    const {
      marked = [],
      waiting = [],
      lost = [],
    } = Object.groupBy(orphans, ({ orgId, conversationId }) => {
      if (living.get(conversationId) === orgId) return 'marked';
      return isAnyUnnamed || namedIds.has(conversationId) ? 'waiting' : 'lost';
    });
    // A refresh removes the mark of a message whose conversation exists.
    const markedIds = marked.map(({ _id }) => _id);
    await refreshAll(deps, 'message', markedIds);
    // A message whose refresh the store refuses keeps its mark.
    const waitingAgain = [...marked, ...waiting].filter(({ guard }) => typeof guard === 'number');
    if (waitingAgain.length > 0)
      await sweepStore.waitAgain(waitingAgain, upTo, { orphanedAt: deps.now(), revision: newRevision() });
    purged += (await purge(deps, 'message', lost)).length;
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
  const purged = documents.map(({ _id, orgId, version, position, tombstonePosition }) => ({
    _id,
    orgId,
    version,
    revision: newRevision(),
    position,
    expiresAt,
    ...(tombstonePosition && { tombstonePosition }),
    ...(refs && { refs }),
  }));
  const writes = purged.map((document, index): Write => {
    const { guard = null } = documents[index] ?? {};
    return { op: 'put', document, guard };
  });
  const { conflicted, refused } = await store.write(kind, writes);
  for (const [id, reason] of refused) onNotRefreshed(kind, id, reason);
  const isPurged = ({ _id }: Sweepable) => !conflicted.has(_id) && !refused.has(_id);
  return purged.map(({ revision, ...kept }) => ({ ...kept, guard: revision })).filter(isPurged);
}
