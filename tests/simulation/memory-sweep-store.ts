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
    return structuredClone([...(data.get(kind)?.values() ?? [])].filter(matches)).sort(byId);
  };
  const sweepable = (document: StoredDocument) => {
    const { _id, orgId, version, position, tombstonePosition, revision: guard } = document;
    return { _id, orgId, version, position, guard, ...(tombstonePosition && { tombstonePosition }) };
  };
  const retention = ({ state, dataRetentionDays }: StoredDocument) =>
    ((state ? state.dataRetentionDays : dataRetentionDays) ?? null) as number | null;
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
      const keyOf = ({ _id, byCreated = '' }: StoredDocument) => (createdUpTo ? byCreated : _id);
      const isWanted = (of: StoredDocument) =>
        createdUpTo
          ? field(of, 'channelId') === id && keyOf(of) < sortKey(new Date(createdUpTo.getTime() + 1), '')
          : of.refs?.includes(refOf('channel', id));
      const found = await find(
        'conversation',
        (of) => keyOf(of) > after && of.orgId === orgId && !!isWanted(of),
      );
      return found
        .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
        .slice(0, pageSize)
        .map((document) => ({
          ...sweepable(document),
          ...(document.state && { updatedAt: document.state.updatedAt as Date }),
          key: keyOf(document),
        }));
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
      return found
        .slice(0, pageSize)
        .map((document) => ({
          ...sweepable(document),
          conversationId: String(field(document, 'conversationId')),
        }));
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
      return new Set([...deadLetters].flatMap(({ subjects }) => subjects.filter((id) => ids.includes(id))));
    },
    hasUnnamedConversations: async () => false,
    eraseDeadLetters: async (ids, upTo) => {
      await pause('erase dead letters');
      for (const deadLetter of deadLetters) {
        if (deadLetter.publishedAt <= upTo && deadLetter.subjects.some((id) => ids.includes(id)))
          deadLetters.delete(deadLetter);
      }
    },
  };
}
