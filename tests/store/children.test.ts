import type { StoredDocument, Write } from '../../services/projector/materialize/store.ts';
import { envelopeOf } from '../simulation/memory-store.ts';
import { useOpened } from '../support/use-opened.ts';
import { bothStores, conversation, tombstoneOf, insert, keyOf } from './both-stores.ts';

/** Reads the children of many parents, in as many reads as it takes. */
describe.each(bothStores)('the first children, from $name', ({ isReal, open }) => {
  const opened = useOpened(open);

  const given = async (documents: StoredDocument[]) => {
    for (let start = 0; start < documents.length; start += 1_000)
      await opened.store.write('conversation', documents.slice(start, start + 1_000).map(insert));
  };
  const family = (ticketId: string, size: number, orgId = 'org_1') =>
    Array.from({ length: size }, (_, index) => {
      const id = `${ticketId}_${String(index).padStart(5, '0')}`;
      return conversation(id, ticketId, size - index, { orgId });
    });
  /** The ids of the first children of a family, whose last document was created first. */
  const firstIds = (documents: StoredDocument[], max: number) =>
    documents
      .map(({ _id }) => _id)
      .reverse()
      .slice(0, max);
  /** The ids of each parent's first children (the parent's organization is `org_1` by default), and the number of reads. */
  const firstChildren = async (max: number, parents: string[], orgIds: Record<string, string> = {}) => {
    const found: Record<string, string[]> = {};
    let reads = 0;
    for (let pending = new Map(parents.map((id) => [id, orgIds[id] ?? 'org_1'])); pending.size > 0;) {
      const { children, remaining } = await opened.store.readFirstChildren(
        'conversation',
        { parentField: 'ticketId', max },
        pending,
      );
      for (const [id, family] of children)
        if (!remaining.includes(id)) found[id] = family.map(({ _id }) => _id);
      pending = new Map([...pending].filter(([id]) => remaining.includes(id)));
      reads += 1;
    }
    return { found, reads };
  };

  it('come in the order of their creation, and at most `max` for each parent', async () => {
    const [small, large] = [family('ti_a1', 2), family('ti_a2', 7)];
    await given([...small, ...large]);
    const { found } = await firstChildren(3, ['ti_a2', 'ti_a1', 'ti_a0']);
    expect(found).toEqual({ ti_a1: firstIds(small, 3), ti_a2: firstIds(large, 3) });
  });

  it('have the fields that a ticket embeds, and their sort key', async () => {
    await given([conversation('b1', 'ti_b', 5)]);
    const by = { parentField: 'ticketId', max: 3 };
    const { children, remaining } = await opened.store.readFirstChildren(
      'conversation',
      by,
      new Map([['ti_b', 'org_1']]),
    );
    const state = { id: 'b1', ticketId: 'ti_b', role: 'side', status: 'resolved', channelId: 'chan_1' };
    const child = { _id: 'b1', orgId: 'org_1', revision: 1, byCreated: keyOf(5, 'b1'), state };
    expect({ children, remaining }).toEqual({ children: new Map([['ti_b', [child]]]), remaining: [] });
  });

  it('are living documents of the organization of their parent', async () => {
    const foreign = family('ti_c', 4, 'org_2');
    const [dead, ...mine] = [9, 8, 7].map((second) => conversation(`c${second}`, 'ti_c', second));
    const freed = envelopeOf(conversation('c6', 'ti_c'));
    await given([...foreign, ...mine, freed, ...(dead ? [tombstoneOf(dead)] : [])]);
    expect((await firstChildren(3, ['ti_c'])).found).toEqual({ ti_c: ['c7', 'c8'] });
    // and a read for parents of both organizations does not mix them up
    await given(family('ti_c2', 2, 'org_2'));
    const { found } = await firstChildren(3, ['ti_c', 'ti_c2'], { ti_c2: 'org_2' });
    expect(found).toEqual({ ti_c: ['c7', 'c8'], ti_c2: ['ti_c2_00001', 'ti_c2_00000'] });
  });

  it('are found for many small families with a large one among them', async () => {
    const large = family('ti_d050', isReal ? 5_000 : 300);
    const small = Array.from({ length: 100 }, (_, index) => `ti_d${String(index).padStart(3, '0')}`)
      .filter((id) => id !== 'ti_d050')
      .map((id) => family(id, 3));
    await given([...large, ...small.flat()]);
    const ids = ['ti_d050', ...small.map(([child]) => String(child?.state?.ticketId))];
    const { found } = await firstChildren(200, ids);
    expect(found.ti_d050).toEqual(firstIds(large, 200));
    for (const [index, children] of small.entries())
      expect(found[ids[index + 1] ?? '']).toEqual(firstIds(children, 200));
  });

  it('come once each, in order, while other workers write them', async () => {
    // given families that take several reads
    const families = ['ti_e1', 'ti_e2', 'ti_e3'].map((id) => family(id, isReal ? 900 : 30));
    await given(families.flat());
    const ids = ['ti_e1', 'ti_e2', 'ti_e3'];
    const expected = Object.fromEntries(ids.map((id, index) => [id, firstIds(families[index] ?? [], 200)]));
    let reading = true;
    const writeUntilRead = async () => {
      let revision = 1;
      for (; reading; revision += 1) {
        const writes = families
          .flat()
          .map((child): Write => ({
            op: 'put',
            document: { ...child, revision: revision + 1 },
            guard: revision,
          }));
        for (let start = 0; start < writes.length; start += 100)
          await opened.store.write('conversation', writes.slice(start, start + 100));
      }
      return revision;
    };
    const writing = writeUntilRead();
    for (let round = 0; round < (isReal ? 15 : 3); round += 1)
      expect((await firstChildren(200, ids)).found).toEqual(expected);
    reading = false;
    expect(await writing).toBeGreaterThan(1);
  });

  // The simulation's store runs the same code on small families.
  if (isReal)
    it('that do not fit into memory together take further reads', async () => {
      const [first, second, third] = [family('ti_f1', 5_000), family('ti_f2', 5_000), family('ti_f3', 10)];
      await given([...first, ...second, ...third]);
      const { found, reads } = await firstChildren(6_000, ['ti_f1', 'ti_f2', 'ti_f3']);
      expect(found).toEqual({
        ti_f1: firstIds(first, 6_000),
        ti_f2: firstIds(second, 6_000),
        ti_f3: firstIds(third, 6_000),
      });
      expect(reads).toBe(2);
    });
});
