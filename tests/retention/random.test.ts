import type { Message } from '../../shared/documents/message.ts';
import type { Conversation } from '../../shared/documents/conversation.ts';
import { expiredUpTo } from '../../shared/documents/retention.ts';
import { fold, type Expected } from '../convergence/fold.ts';
import { randomHistory } from '../convergence/history.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { createRandom } from '../support/random.ts';
import { day, openReadModel, type ReadModel } from './read-model.ts';

/** In the history of each of them something has expired. */
const seeds = [1, 2, 4, 5, 6, 7, 8, 9];

/** What is left of documents when those past their retention are freed, from the contract alone. */
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

describe('a read model that is swept', () => {
  let model: ReadModel;

  beforeEach(async () => {
    model = await openReadModel();
  }, 60_000);
  afterEach(() => model.close(), 60_000);

  test.each(seeds)(
    'holds what the fold of the log holds less what has expired, and all of it when the log is read again: seed %i',
    async (seed) => {
      // given a random history, of minutes, in channels that keep data for some days
      const history = randomHistory(seed, 400, { retentionDays: [0, 10, 20], organizations: 1 });
      await model.applyLog(history, day(0));
      const all = fold(history);
      expect(await readDocuments(model.database)).toEqual(Object.fromEntries(all));
      // when it is swept while some of it is as old as that
      const random = createRandom(seed);
      const asOf = new Date(Date.UTC(2026, 0, 21) + random.int(300) * 1_000);
      const { conversations, messages } = await model.sweepAsOf(asOf, { now: day(0) });
      // then what is left is what has not expired
      const left = unexpired(all, asOf);
      const living = await readDocuments(model.database, { state: { $exists: true } });
      expect(Object.keys(living).sort()).toEqual([...left.keys()].sort());
      expect(all.size - left.size).toBe(conversations + messages);
      expect(conversations + messages).toBeGreaterThan(0);
      // and when the log is read again, all of it is there, joined as before
      await model.applyLog(history, day(1));
      expect(await readDocuments(model.database)).toEqual(Object.fromEntries(all));
    },
    60_000,
  );
});
