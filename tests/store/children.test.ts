import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { storedDocument } from '../support/engine.ts';
import { useEngineStore } from './engine-store.ts';

const numbered = (prefix: string, index: number) => prefix + String(index).padStart(5, '0');

/** The conversations of a ticket. The first was created last. */
const family = (ticketId: string, size: number): StoredDocument[] =>
  Array.from({ length: size }, (_, index) => {
    const id = numbered(`${ticketId}_`, index);
    return storedDocument({ id, ticketId }, { byCreated: numbered('', size - index) + id });
  });

describe('the first children of many parents', () => {
  const opened = useEngineStore();

  // Small families and a few large families, of which one read returns only a part.
  const sizes = Array.from({ length: 100 }, (_, index) => (index % 50 === 7 ? 5_000 : 3));
  const families = new Map(sizes.map((size, index) => [numbered('ti_', index), size] as const));
  const documents = [...families].flatMap(([id, size]) => family(id, size));
  const write = async (revision: number, guard: number | null, some = documents) => {
    for (let start = 0; start < some.length; start += 1_000) {
      const part = some.slice(start, start + 1_000).map((document) => ({ ...document, revision }));
      const writes = part.map((document) => ({ op: 'put' as const, document, guard }));
      await opened.store.write('conversation', writes);
    }
  };
  const read = async (max: number) => {
    const found: Record<string, string[]> = {};
    let reads = 0;
    for (let pending = [...families.keys()]; pending.length > 0; reads += 1) {
      const parents = new Map(pending.map((id) => [id, 'org_1']));
      const by = { parentField: 'ticketId', max };
      const { children, remaining } = await opened.store.readFirstChildren('conversation', by, parents);
      for (const [id, some] of children) if (!remaining.includes(id)) found[id] = some.map(({ _id }) => _id);
      pending = remaining;
    }
    return { found, reads };
  };
  const firstOf = (max: number) => {
    const ids = (id: string, size: number) => family(id, size).map(({ _id }) => _id);
    return Object.fromEntries([...families].map(([id, size]) => [id, ids(id, size).reverse().slice(0, max)]));
  };
  beforeAll(() => write(1, null));

  it('come once each, in order, while other workers write them', async () => {
    let isReading = true;
    const writing = (async () => {
      let revision = 1;
      for (; isReading; revision += 1) await write(revision + 1, revision, documents.slice(4_500, 5_500));
      return revision;
    })();
    for (let round = 0; round < 3; round += 1)
      expect(await read(200)).toEqual({ found: firstOf(200), reads: 1 });
    isReading = false;
    expect(await writing).toBeGreaterThan(1);
  });

  it('come in as many reads as memory needs', async () => {
    expect(await read(5_500)).toEqual({ found: firstOf(5_500), reads: 2 });
  });

  it('belong to the organization of their parent', async () => {
    const documents = [...family('ti_own', 2), ...family('ti_foreign', 2)].map((child, index) => ({
      ...child,
      orgId: `org_${index % 2}`,
    }));
    await opened.store.write(
      'conversation',
      documents.map((document) => ({ op: 'put' as const, document, guard: null })),
    );
    const parents = new Map([
      ['ti_own', 'org_0'],
      ['ti_foreign', 'org_1'],
    ]);
    const by = { parentField: 'ticketId', max: 9 };
    const { children } = await opened.store.readFirstChildren('conversation', by, parents);
    const found = [...children].map(([id, some]) => [id, some.map(({ _id }) => _id)]);
    expect(Object.fromEntries(found)).toEqual({ ti_own: ['ti_own_00000'], ti_foreign: ['ti_foreign_00001'] });
  });
});
