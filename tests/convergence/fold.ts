import { type EntityState, type Kind, states } from '../../shared/documents/resources.ts';
import type { Event } from '../support/events.ts';

/** The outcome of one key's records. `orgId` is null if all records of the key are tombstones. */
type Row = { kind: Kind; orgId: string | null; version: number; state: unknown; isDeleted: boolean };

type ExpectedDocument = {
  kind: Kind;
  orgId: string;
  version: number;
  state: unknown;
  joined: object;
  refs: string[];
  sortKeys: SortKeys;
  isPending: boolean;
};

/** The expected documents by id, without deleted ones. */
export type Expected = Map<string, ExpectedDocument>;

/** The maximum number of conversations that a ticket embeds. The simulation lowers the bound to reach it more often. */
export const bounds = { embeddedConversations: 200 };

/**
 * The pure fold of a log: the final state of every document, computed in the simplest way from the contract and
 * independent of the engine. The fold decides each key by the order of its records, then joins each document from the
 * final states. It treats entities in `gone` as missing.
 */
export function fold(history: Event[], gone = new Set<string>()): Expected {
  const rows = new Map<string, Row>();
  for (const [id, records] of Map.groupBy(history, (event) => event.id)) {
    const row = decide(records);
    if (row) rows.set(id, row);
  }
  for (const id of gone) rows.delete(id);
  const documents: Expected = new Map();
  for (const [id, { kind, orgId, version, state }] of rows) {
    if (!state || orgId === null) continue;
    const view = viewOf(rows, orgId);
    if (kind === 'message' && view.isDeleted((state as EntityState['message']).conversationId)) continue;
    const { joined, refs } = relate(kind, state, view);
    const sortKeys = sortKeysOf(kind, state);
    const isPending = kind === 'conversation' && (joined as { channel: unknown }).channel === null;
    documents.set(id, { kind, orgId, version, state, joined, refs: refTexts(refs), sortKeys, isPending });
  }
  return documents;
}

/**
 * Decides the outcome of one key's records, in the order of the log, by the event contract:
 *
 * - The highest version wins. Of records with the same version, a `deleted` event wins over a state.
 * - A tombstone deletes a living version only if no record of that version comes after the tombstone.
 * - The deletion of a conversation is final.
 * - Only records of the first record's organization are accepted.
 */
function decide(log: Event[]): Row | null {
  const orgId = log.find(({ op }) => op !== 'tombstone')?.orgId ?? null;
  const records = log.filter((event) => event.op === 'tombstone' || event.orgId === orgId);
  const [first] = records;
  if (!first) return null;
  const { kind } = first;
  const events = records.filter(({ op }) => op !== 'tombstone');
  const version = Math.max(0, ...events.map((event) => event.version));
  const deciding = records.filter((event) => event.op === 'tombstone' || event.version === version);
  const isDeletedForever =
    kind === 'conversation' && records.some(({ op }) => op === 'tombstone' || op === 'deleted');
  const isDeleted =
    isDeletedForever || deciding.at(-1)?.op === 'tombstone' || deciding.some(({ op }) => op === 'deleted');
  const data = events.find((event) => event.version === version)?.data;
  return { kind, orgId, version, isDeleted, state: isDeleted ? null : states[kind].parse(data) };
}

/** The states of one organization, as the joins of its documents read them. */
type View = {
  find: <K extends Kind>(kind: K, id: string | null) => EntityState[K] | null;
  all: <K extends Kind>(kind: K) => EntityState[K][];
  isDeleted: (id: string) => boolean;
};

const viewOf = (rows: Map<string, Row>, orgId: string): View => ({
  find: <K extends Kind>(kind: K, id: string | null) => {
    const row = rows.get(id ?? '');
    return row?.kind === kind && row.orgId === orgId ? (row.state as EntityState[K] | null) : null;
  },
  all: <K extends Kind>(kind: K) =>
    [...rows.values()]
      .filter((row) => row.kind === kind && row.orgId === orgId && row.state)
      .map(({ state }) => state as EntityState[K]),
  isDeleted: (id) => rows.get(id)?.orgId === orgId && rows.get(id)?.isDeleted === true,
});

const byCreation = (a: { createdAt: Date; id: string }, b: { createdAt: Date; id: string }) =>
  a.createdAt.getTime() - b.createdAt.getTime() || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));

const withoutNulls = <T>(items: (T | null)[]): T[] => items.filter((item) => item !== null);

/** The embedded fields, and the ids of the references by edge, including ids of entities that do not exist. */
type Related = { joined: object; refs: Refs };
type Refs = Record<string, (string | null)[]>;

/** References in the form of a document: `edge:id`, sorted. */
function refTexts(refs: Refs): string[] {
  const texts: string[] = [];
  for (const [edge, ids] of Object.entries(refs)) {
    for (const id of withoutNulls(ids)) texts.push(`${edge}:${id}`);
  }
  return texts.sort();
}

const relations: { [K in Kind]?: (state: EntityState[K], view: View) => Related } = {
  ticket,
  conversation,
  message,
  channel,
};

function relate<K extends Kind>(kind: K, state: unknown, view: View): Related {
  return relations[kind]?.(state as EntityState[K], view) ?? { joined: {}, refs: {} };
}

function ticket({ id, requesterId, tagIds, topicIds }: EntityState['ticket'], view: View): Related {
  const requester = view.find('contact', requesterId);
  const children = view
    .all('conversation')
    .filter(({ ticketId }) => ticketId === id)
    .sort(byCreation)
    .slice(0, bounds.embeddedConversations);
  const tags = withoutNulls(tagIds.map((tagId) => view.find('tag', tagId)));
  const topics = withoutNulls(topicIds.map((topicId) => view.find('topic', topicId)));
  const last = children.length === bounds.embeddedConversations ? children.at(-1) : undefined;
  return {
    joined: {
      requester: requester && { name: requester.name, email: requester.email },
      tags: tags.map(label),
      topics: topics.map(label),
      conversations: withoutNulls(children.map((child) => embedded(child, view))),
      moreAfter: last ? last.createdAt.toISOString() + last.id : null,
    },
    refs: {
      requester: [requesterId],
      tags: tagIds,
      topics: topicIds,
      conversations: children.map((child) => child.id),
      channels: [...new Set(children.map(({ channelId }) => channelId))],
    },
  };
}

const label = ({ id, name }: { id: string; name: string }) => ({ id, name });

/** A conversation as its ticket embeds it; null without its channel. */
function embedded(child: EntityState['conversation'], view: View): object | null {
  const ownChannel = view.find('channel', child.channelId);
  if (!ownChannel) return null;
  const { id, role, status, createdAt, updatedAt } = child;
  const retainUntil = afterDays(updatedAt, ownChannel.dataRetentionDays ?? 0);
  return { id, role, status, createdAt, updatedAt, retainUntil };
}

const afterDays = (from: Date, days: number) =>
  days === 0 ? null : new Date(from.getTime() + days * 24 * 3_600_000);

function conversation(state: EntityState['conversation'], view: View): Related {
  const { channelId, contactId, assignedUserId, topicIds, tagIds } = state;
  const ownChannel = view.find('channel', channelId);
  const user = view.find('user', assignedUserId);
  return {
    joined: {
      channel: ownChannel && {
        id: ownChannel.id,
        name: ownChannel.name,
        type: ownChannel.type,
        dataRetentionDays: ownChannel.dataRetentionDays,
      },
      contact: person(view.find('contact', contactId)),
      assignedUser: user && { id: user.id, name: user.name, email: user.email },
      topics: withoutNulls(topicIds.map((id) => view.find('topic', id))),
      tags: withoutNulls(tagIds.map((id) => view.find('tag', id))),
    },
    refs: {
      channel: [channelId],
      contact: [contactId],
      assignedUser: [assignedUserId],
      topics: topicIds,
      tags: tagIds,
    },
  };
}

const person = (contact: EntityState['contact'] | null) =>
  contact && { name: contact.name, email: contact.email?.email ?? null };

function message({ author, conversationId }: EntityState['message'], view: View): Related {
  const conversationRef = { conversation: [conversationId] };
  if (!author) return { joined: { author: null }, refs: conversationRef };
  const { type, id } = author;
  if (type === 'contact') {
    const joined = { author: person(view.find('contact', id)) };
    return { joined, refs: { ...conversationRef, contact: [id] } };
  }
  if (type === 'user') {
    const user = view.find('user', id);
    const joined = { author: user && { name: user.name, email: user.email } };
    return { joined, refs: { ...conversationRef, user: [id] } };
  }
  const agent = view.find('agent', id);
  const joined = { author: agent && { name: agent.name, email: null } };
  return { joined, refs: { ...conversationRef, agent: [id] } };
}

function channel({ agentId, config }: EntityState['channel'], view: View): Related {
  const routesTo = 'routesToChannelId' in config ? config.routesToChannelId : null;
  const agent = view.find('agent', agentId);
  const target = view.find('channel', routesTo);
  return {
    joined: {
      agent: agent && { id: agent.id, name: agent.name, disabled: agent.disabled },
      routesTo: target && { id: target.id, name: target.name },
    },
    refs: { agent: [agentId], routesTo: [routesTo] },
  };
}

type SortKeys = { byCreated?: string; byUpdated?: string };

const unlisted: Kind[] = ['apiKey', 'contact', 'user', 'agent', 'tag', 'topic'];

/** The keys by which the lists of the API sort. A document that no list shows has no sort keys. */
function sortKeysOf(kind: Kind, state: unknown): SortKeys {
  const { id, createdAt, updatedAt, archivedAt } = state as EntityState['ticket'] & {
    archivedAt?: Date | null;
  };
  if (unlisted.includes(kind) || archivedAt) return {};
  const byCreated = createdAt.toISOString() + id;
  if (kind !== 'ticket') return { byCreated };
  const changedAt = updatedAt < createdAt ? createdAt : updatedAt;
  return { byCreated, byUpdated: changedAt.toISOString() + id };
}
