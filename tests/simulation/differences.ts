import { isDeepStrictEqual } from 'node:util';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { type Expected, fold } from '../convergence/fold.ts';
import { comparable } from '../convergence/read-documents.ts';
import type { Event } from '../support/events.ts';
import { expires } from './long-history.ts';
import type { Data } from './memory-store.ts';

export type Differences = Record<string, { expected: unknown; actual: unknown }>;

/** The documents that differ from the fold of the log without the documents that the sweep may have purged. */
export function differences(early: Event[], late: Event[], data: Data): Differences {
  const actual = new Map<string, unknown>();
  for (const kind of kinds) {
    for (const document of data.get(kind)?.values() ?? []) {
      if (document.state) actual.set(document._id, comparable(kind, document));
    }
  }
  const history = [...early, ...late];
  const gone = late.length > 0 ? purged(early, late, new Set(actual.keys())) : new Set<string>();
  const expected = fold(history, gone);
  const ids = new Set([...expected.keys(), ...actual.keys()]);
  const found = wrongMarks(data);
  for (const id of ids) {
    const pair = { expected: expected.get(id), actual: actual.get(id) };
    if (!isDeepStrictEqual(pair.expected, pair.actual)) found[id] = pair;
  }
  return found;
}

/**
 * The missing documents that the sweep may have purged: expired conversations with their messages, and messages that
 * had no conversation before or after the gap of the history. An entity with a late record has not expired.
 */
function purged(early: Event[], late: Event[], present: Set<string>): Set<string> {
  const before = fold(early);
  const all = fold([...early, ...late]);
  const lateIds = new Set(late.map(({ id }) => id));
  const inExpiringChannels = [...early, ...late].filter(({ data }) => expires(String(data?.channelId)));
  const expiringIds = new Set(inExpiringChannels.map(({ id }) => id));
  const missing = (kind: Kind) => {
    const ofKind = [...all].filter(([, document]) => document.kind === kind);
    return ofKind.map(([id]) => id).filter((id) => !present.has(id));
  };
  const goneConversations = new Set(
    missing('conversation').filter((id) => expiringIds.has(id) && !lateIds.has(id)),
  );
  const isPurgeable = (id: string) => {
    const conversationId = conversationOf(all, id);
    const hasExpired = !lateIds.has(id) && expiringIds.has(conversationId);
    const wasOrphan = before.has(id) && !hasConversation(before, id);
    const isOrphan = !hasConversation(all, id) || goneConversations.has(conversationId);
    return hasExpired || wasOrphan || isOrphan;
  };
  return new Set([...goneConversations, ...missing('message').filter(isPurgeable)]);
}

/** The id of the conversation that a message names. */
function conversationOf(documents: Expected, id: string): string {
  const state = documents.get(id)?.state as { conversationId?: string } | undefined;
  return state?.conversationId ?? '';
}

function hasConversation(documents: Expected, id: string): boolean {
  const conversation = documents.get(conversationOf(documents, id));
  return conversation !== undefined && conversation.orgId === documents.get(id)?.orgId;
}

/** A message is marked as an orphan if its conversation is missing, and only then. */
function wrongMarks(data: Data): Differences {
  const differing: Differences = {};
  for (const { _id, orgId, state, orphanedAt } of data.get('message')?.values() ?? []) {
    if (!state) continue;
    const conversation = data.get('conversation')?.get(String(state.conversationId));
    const isOrphan = !conversation?.state || conversation.orgId !== orgId;
    const isMarked = orphanedAt !== undefined;
    if (isMarked !== isOrphan) differing[`mark of ${_id}`] = { expected: isOrphan, actual: orphanedAt };
  }
  return differing;
}
