import { refOf } from '../../services/projector/materialize/edges.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sortKey } from '../../shared/documents/instant.ts';
import type { Data } from './memory-store.ts';
import { confirm, logWrite, type Oplog } from './oplog.ts';

/** A dead letter as the sweep sees it: the entities that it names, and when its record was published. */
export type NamedDeadLetter = { subjects: string[]; publishedAt: Date };

const byId = (a: { _id: string }, b: { _id: string }) => (a._id < b._id ? -1 : 1);

/**
 * The sweep's store in memory, with pages so small that the sweep reads several. It awaits `pause` before each read. A
 * test in `tests/store` compares its answers with those of MongoDB.
 */
export function memorySweepStore(
  data: Data,
  deadLetters: Set<NamedDeadLetter>,
  pause: (label: string) => Promise<void> = async () => undefined,
  { oplog = [], pageSize = 2 }: { oplog?: Oplog; pageSize?: number } = {},
): SweepStore {
  const find = async (
    kind: 'channel' | 'conversation' | 'message',
    matches: (of: StoredDocument) => boolean,
  ) => {
    await pause(`sweep ${kind}s`);
    const documents = data.get(kind) ?? new Map<string, StoredDocument>();
    const found = [...documents.values()].filter(matches);
    return structuredClone(found).sort(byId);
  };
  const sweepable = (document: StoredDocument) => {
    const { _id, orgId, version, position, tombstonePosition, revision } = document;
    const entity = { _id, orgId, version, position, guard: revision };
    return tombstonePosition ? { ...entity, tombstonePosition } : entity;
  };
  const retention = ({ state, dataRetentionDays }: StoredDocument) => {
    const days = state ? state.dataRetentionDays : dataRetentionDays;
    return (days ?? null) as number | null;
  };
  const field = (document: StoredDocument, name: string) => document.state?.[name];
  const isIn = (ids: string[], orgId: string) => (document: StoredDocument) =>
    document.orgId === orgId && ids.includes(String(field(document, 'conversationId')));
  return {
    readChannels: async (after) => {
      const found = await find('channel', (of) => of._id > after && (retention(of) ?? 0) > 0);
      return found.slice(0, pageSize).map(({ _id, orgId }) => ({ id: _id, orgId: orgId ?? '' }));
    },
    readRetention: async (id) => {
      const [found] = await find('channel', ({ _id }) => _id === id);
      return found ? retention(found) : null;
    },
    readConversations: async ({ id, orgId }, after, createdUpTo) => {
      // With a bound, a page is a range of the sort keys; without one, it is a range of the ids.
      const keyOf = ({ _id, byCreated = '' }: StoredDocument) => (createdUpTo ? byCreated : _id);
      const isWanted = (of: StoredDocument) => {
        if (!createdUpTo) return of.refs?.includes(refOf('channel', id)) === true;
        const end = sortKey(new Date(createdUpTo.getTime() + 1), '');
        return field(of, 'channelId') === id && keyOf(of) < end;
      };
      const isInPage = (of: StoredDocument) => of.orgId === orgId && keyOf(of) > after && isWanted(of);
      const found = await find('conversation', isInPage);
      const inOrder = found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      return inOrder.slice(0, pageSize).map((document) => {
        const conversation = { ...sweepable(document), key: keyOf(document) };
        if (!document.state) return conversation;
        return { ...conversation, updatedAt: document.state.updatedAt as Date };
      });
    },
    readExpiredMessages: async (orgId, ids, upTo) => {
      const found = await find('message', isIn(ids, orgId));
      const expired = found.filter((of) => (field(of, 'createdAt') as Date) <= upTo);
      return expired.slice(0, pageSize).map(sweepable);
    },
    readIdsWithMessages: async (orgId, ids) => {
      const found = await find('message', isIn(ids, orgId));
      return new Set(found.map((of) => String(field(of, 'conversationId'))));
    },
    readOrphans: async (upTo) => {
      const found = await find('message', ({ orphanedAt }) => orphanedAt !== undefined && orphanedAt <= upTo);
      return found.slice(0, pageSize).map((document) => {
        const conversationId = String(field(document, 'conversationId'));
        return { ...sweepable(document), conversationId };
      });
    },
    waitAgain: async (orphans, upTo, fields) => {
      const messages = data.get('message') ?? new Map<string, StoredDocument>();
      for (const { _id } of orphans) {
        await pause(`let message ${_id} wait again`);
        const document = messages.get(_id);
        if (!document?.orphanedAt || document.orphanedAt > upTo) continue;
        confirm(oplog, logWrite(oplog, messages, _id));
        messages.set(_id, { ...document, ...fields });
      }
    },
    readIdsInDeadLetters: async (ids) => {
      await pause('sweep dead letters');
      const named = [...deadLetters].flatMap(({ subjects }) => subjects);
      return new Set(named.filter((id) => ids.includes(id)));
    },
    hasUnnamedConversations: async () => false,
    eraseDeadLetters: async (ids, upTo) => {
      await pause('erase dead letters');
      for (const deadLetter of deadLetters) {
        const namesOne = deadLetter.subjects.some((id) => ids.includes(id));
        if (namesOne && deadLetter.publishedAt <= upTo) deadLetters.delete(deadLetter);
      }
    },
  };
}
