import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { storedDocument } from '../support/engine.ts';
import { useEngineStore } from './engine-store.ts';

const numberedId = (prefix: string, index: number) => prefix + String(index).padStart(5, '0');

/** The conversations of a ticket in reverse order of their creation. */
const conversationsOf = (ticketId: string, count: number): StoredDocument[] =>
  Array.from({ length: count }, (_, index) => {
    const id = numberedId(`${ticketId}_`, index);
    return storedDocument({ id, ticketId }, { byCreated: numberedId('', count - index) + id });
  });

describe('a read of the first children of many parents', () => {
  const opened = useEngineStore();

  // Two of the tickets have more conversations than one read returns.
  const largeTickets = new Set([7, 57]);
  const countByTicket = new Map<string, number>();
  for (let index = 0; index < 100; index += 1)
    countByTicket.set(numberedId('ti_', index), largeTickets.has(index) ? 5_000 : 3);
  const allConversations = [...countByTicket].flatMap(([id, count]) => conversationsOf(id, count));
  const write = async (revision: number, guard: number | null, documents: StoredDocument[]) => {
    for (let start = 0; start < documents.length; start += 1_000) {
      const batch = documents.slice(start, start + 1_000);
      const writes = batch.map((document) => ({
        op: 'put' as const,
        document: { ...document, revision },
        guard,
      }));
      await opened.store.write('conversation', writes);
    }
  };
  /** Reads the first `max` children of each ticket, with as many reads as the store needs. */
  const readAll = async (max: number) => {
    const childIds: Record<string, string[]> = {};
    let reads = 0;
    let ticketIds = [...countByTicket.keys()];
    while (ticketIds.length > 0) {
      const parents = new Map(ticketIds.map((id) => [id, 'org_1']));
      const options = { parentField: 'ticketId', max };
      const { children, remaining } = await opened.store.readFirstChildren('conversation', options, parents);
      for (const [ticketId, conversations] of children) {
        if (!remaining.includes(ticketId)) childIds[ticketId] = conversations.map(({ _id }) => _id);
      }
      ticketIds = remaining;
      reads += 1;
    }
    return { childIds, reads };
  };
  const expectedChildIds = (max: number) => {
    const childIds: Record<string, string[]> = {};
    for (const [ticketId, count] of countByTicket) {
      const inOrder = conversationsOf(ticketId, count).reverse();
      childIds[ticketId] = inOrder.slice(0, max).map(({ _id }) => _id);
    }
    return childIds;
  };
  beforeAll(() => write(1, null, allConversations));

  test('returns each child once and in order while other workers write the children', async () => {
    let isReading = true;
    const rewriteWhileReading = async () => {
      let revision = 1;
      while (isReading) {
        await write(revision + 1, revision, allConversations.slice(4_500, 5_500));
        revision += 1;
      }
      return revision;
    };
    const rewriting = rewriteWhileReading();
    for (let round = 0; round < 3; round += 1)
      expect(await readAll(200)).toEqual({ childIds: expectedChildIds(200), reads: 1 });
    isReading = false;
    expect(await rewriting).toBeGreaterThan(1);
  });

  test('leaves parents for the next read if they need too much memory', async () => {
    expect(await readAll(5_500)).toEqual({ childIds: expectedChildIds(5_500), reads: 2 });
  });

  test('returns only children of the organization of the parent', async () => {
    // given a conversation of each of two organizations, for both tickets
    const conversations = [...conversationsOf('ti_own', 2), ...conversationsOf('ti_foreign', 2)];
    const writes = conversations.map((child, index) => {
      const document = { ...child, orgId: `org_${index % 2}` };
      return { op: 'put' as const, document, guard: null };
    });
    await opened.store.write('conversation', writes);
    const parents = new Map([
      ['ti_own', 'org_0'],
      ['ti_foreign', 'org_1'],
    ]);
    const options = { parentField: 'ticketId', max: 9 };
    const { children } = await opened.store.readFirstChildren('conversation', options, parents);
    const childIds = (ticketId: string) => children.get(ticketId)?.map(({ _id }) => _id);
    expect([...children.keys()].toSorted()).toEqual(['ti_foreign', 'ti_own']);
    expect(childIds('ti_own')).toEqual(['ti_own_00000']);
    expect(childIds('ti_foreign')).toEqual(['ti_foreign_00001']);
  });
});
