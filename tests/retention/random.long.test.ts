import type { Message } from '../../shared/documents/message.ts';
import type { Conversation } from '../../shared/documents/conversation.ts';
import { expiredUpTo } from '../../shared/documents/retention.ts';
import { fold, type Expected } from '../convergence/fold.ts';
import { randomHistory } from '../convergence/history.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { createRandom } from '../support/random.ts';
import { day, useReadModel } from './read-model.ts';

/** Seeds whose histories contain expired data. */
const seeds = [1, 2, 3, 5, 8, 9, 11, 13];

/** The documents without the expired ones, computed from the contract alone. */
function unexpired(documents: Expected, asOf: Date): Expected {
  const bound = (orgId: string, conversation: Conversation) => {
    const channel = documents.get(conversation.channelId);
    if (channel?.kind !== 'channel' || channel.orgId !== orgId) return null;
    return expiredUpTo((channel.state as { dataRetentionDays: number | null }).dataRetentionDays, asOf);
  };
  const left = new Map(documents);
  for (const [id, { kind, orgId, state }] of documents) {
    const parent = kind === 'message' ? documents.get((state as Message).conversationId) : undefined;
    if (parent?.kind !== 'conversation' || parent.orgId !== orgId) continue;
    const upTo = bound(orgId, parent.state as Conversation);
    if (upTo && (state as Message).createdAt <= upTo) left.delete(id);
  }
  const inUse = new Set(
    [...left.values()].map(({ kind, orgId, state }) =>
      kind === 'message' ? `${orgId} ${(state as Message).conversationId}` : '',
    ),
  );
  for (const [id, { kind, orgId, state }] of documents) {
    if (kind !== 'conversation' || inUse.has(`${orgId} ${id}`)) continue;
    const upTo = bound(orgId, state as Conversation);
    if (upTo && (state as Conversation).updatedAt <= upTo) left.delete(id);
  }
  return left;
}

describe('a swept read model', () => {
  const model = useReadModel();

  test.each(seeds)(
    'equals the fold of the log without expired data, and the whole fold after a replay: seed %i',
    async (seed) => {
      // given a random history of some minutes, in channels with a retention of some days
      const history = randomHistory(seed, 400, { retentionDays: [0, 10, 20], organizations: 1 });
      await model.applyLog(history, day(0));
      const all = fold(history);
      expect(await readDocuments(model.database)).toEqual(Object.fromEntries(all));
      // when it is swept after some of the data has expired
      const random = createRandom(seed);
      const asOf = new Date(Date.UTC(2026, 0, 21) + random.int(300) * 1_000);
      const { conversations, messages } = await model.sweepAsOf(asOf, { now: day(0) });
      // then only unexpired data remains
      const left = unexpired(all, asOf);
      const living = await readDocuments(model.database, { state: { $exists: true } });
      expect(Object.keys(living).sort()).toEqual([...left.keys()].sort());
      expect(all.size - left.size).toBe(conversations + messages);
      expect(conversations + messages).toBeGreaterThan(0);
      // and a replay of the log restores all of it
      await model.applyLog(history, day(1));
      expect(await readDocuments(model.database)).toEqual(Object.fromEntries(all));
    },
  );
});
