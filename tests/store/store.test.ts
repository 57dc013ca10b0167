import { pageSize } from '../../services/projector/materialize/mongo-store.ts';
import type { JoinedFields, StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/document.ts';
import { envelopeOf } from '../simulation/memory-store.ts';
import { useOpened } from '../support/use-opened.ts';
import { bothStores, conversation, tombstoneOf, insert, position, readAll } from './both-stores.ts';

const applied = { conflicted: new Set(), refused: new Map() };
const conflict = (...ids: string[]) => ({ conflicted: new Set(ids), refused: new Map() });

type Page = { ids: string[]; next: string | null };

/** The ids of all pages after an id. */
async function allPages(read: (after: string) => Promise<Page>, after = ''): Promise<string[]> {
  const found: string[] = [];
  for (let next: string | null = after; next !== null;) {
    const page: Page = await read(next);
    found.push(...page.ids);
    next = page.next;
  }
  return found;
}

/** The behaviour that the engine relies on, of the real store and of the simulation's store. */
describe.each(bothStores)('$name', ({ isReal, open }) => {
  const opened = useOpened(open);
  const find = (id: string) => opened.find(id);

  const given = (documents: StoredDocument[]) => opened.store.write('conversation', documents.map(insert));

  describe('reads', () => {
    const fanOutCursor = { from: 'ticket' as const, edge: 'conversations', after: 'ti_5' };
    const document = conversation('a1', 'ti_a', 1, {
      fanOutCursor,
      tombstonePosition: position(9),
      pending: true,
      orphanedAt: new Date(7),
    });
    const tombstone = { ...tombstoneOf(conversation('a2', 'ti_a')), expiresAt: new Date('2100-01-01') };
    const { title: _title, ...embedded } = document.state ?? {};

    beforeAll(() => given([document, tombstone]));

    it('return stored documents with the state fields that edges need, without missing documents', async () => {
      const { joined: _joined, byCreated: _byCreated, pending: _pending, ...current } = document;
      expect(await readAll(opened.store, 'conversation', ['a1', 'a0', 'a2'])).toEqual([
        { ...current, state: embedded },
        tombstone,
      ]);
    });

    const wanted = new Map<Kind, Set<string>>([
      ['conversation', new Set(['a2', 'a1', 'a0'])],
      ['tag', new Set(['a1'])],
      ['contact', new Set(['c1', 'c0'])],
    ]);

    it('return referenced entities with organization, deletion and the fields for those that name them', async () => {
      const found = await opened.store.readEntities(wanted);
      expect(found.get('tag')?.size ?? 0).toBe(0);
      const [a1, a2, ...others] = ['a1', 'a2', 'a0'].map((id) => found.get('conversation')?.get(id));
      expect(a1).toMatchObject({ _id: 'a1', orgId: 'org_1', revision: 1, state: { id: 'a1' } });
      expect(a2).toMatchObject({ _id: 'a2', orgId: 'org_1', revision: 1, deletedAt: new Date(0) });
      expect(others).toEqual([undefined]);
    });

    it('return revisions, also of tombstones', async () => {
      await opened.store.write('contact', [
        { op: 'put', document: { ...tombstone, _id: 'c1', revision: 7 }, guard: null },
      ]);
      const found = [...(await opened.store.readRevisions(wanted))].flatMap(([kind, revisions]) =>
        [...revisions].map(([id, revision]) => `${kind} ${id} ${revision}`),
      );
      expect(found.sort()).toEqual(['contact c1 7', 'conversation a1 1', 'conversation a2 1']);
      expect(await opened.store.readRevisions(new Map())).toEqual(new Map());
    });

    it('return envelopes, of the state the id alone', async () => {
      const found = await opened.store.readEnvelopes('conversation', ['a1', 'a2', 'a0']);
      expect(found.toSorted((a, b) => (a._id < b._id ? -1 : 1))).toEqual([
        { ...envelopeOf(document), state: { id: 'a1' } },
        tombstone,
      ]);
    });

    it('return documents that are large together in parts, each document once', async () => {
      const ids = Array.from({ length: 30 }, (_, index) => `l${index}`);
      const status = 'x'.repeat(900_000);
      for (const id of ids)
        await given([conversation(id, 'ti_l', 0, { state: { id, ticketId: 'ti_l', status } })]);
      const sizes: number[] = [];
      const found = await readAll(opened.store, 'conversation', [...ids, 'l30'], (size) => sizes.push(size));
      expect(Math.max(...sizes) * status.length).toBeLessThan(17 * 1024 * 1024);
      expect(found.map(({ _id }) => _id).sort()).toEqual(ids.sort());
    });
  });

  describe('a write', () => {
    const join = (document: JoinedFields) =>
      opened.store.write('conversation', [{ op: 'join', document, guard: 1 }]);
    const marks = { pending: true as const, orphanedAt: new Date(1) };
    const fanOutCursor = { from: 'ticket' as const, edge: 'conversations', after: 'ti_5' };

    it('of new documents inserts them, unless the id is taken', async () => {
      const [taken, free] = [conversation('b1', 'ti_b'), conversation('b2', 'ti_b')];
      expect(await given([taken])).toEqual(applied);
      expect(await given([{ ...taken, version: 9 }, free])).toEqual(conflict('b1'));
      expect([await find('b1'), await find('b2')]).toEqual([taken, free]);
      expect(await given([])).toEqual(applied);
    });

    it('applies only to the revision that it was built on, and replaces the whole document', async () => {
      await given([
        conversation('c1', 'ti_c', 0, { ...marks, fanOutCursor, tombstonePosition: position(4) }),
      ]);
      const document = conversation('c1', 'ti_c2', 0, { version: 2, revision: 2 });
      const write = { op: 'put' as const, document, guard: 1 };
      expect(await opened.store.write('conversation', [write])).toEqual(applied);
      const late = { ...write, document: { ...document, version: 3 } };
      expect(await opened.store.write('conversation', [late])).toEqual(conflict('c1'));
      expect(await find('c1')).toEqual(document);
    });

    it('applies if the store has dropped the tombstone that it was built on', async () => {
      const document = conversation('e1', 'ti_e', 0, { version: 5, revision: 8 });
      const write = { op: 'put' as const, document, guard: 7 };
      expect(await opened.store.write('conversation', [write])).toEqual(applied);
      expect(await find('e1')).toEqual(document);
    });

    it('of joined fields leaves the others as they are, and removes marks that no longer hold', async () => {
      const before = conversation('f1', 'ti_f', 3, {
        version: 4,
        fanOutCursor,
        tombstonePosition: position(2),
      });
      await given([{ ...before, ...marks }]);
      const joined = { joined: { channel: { id: 'chan_2' } }, refs: ['channel:chan_2'] };
      const document = { _id: 'f1', revision: 2, position: position(7), ...joined };
      expect(await join(document)).toEqual(applied);
      expect(await find('f1')).toEqual({ ...before, ...document });
      expect(await join(document)).toEqual(conflict('f1'));
    });

    it('of joined fields sets the marks that hold', async () => {
      const before = conversation('g1', 'ti_g');
      await given([before]);
      const document = { _id: 'g1', revision: 2, position: position(7), joined: {}, refs: [] };
      expect(await join({ ...document, ...marks, tombstonePosition: position(3) })).toEqual(applied);
      expect(await find('g1')).toEqual({ ...before, ...document, ...marks, tombstonePosition: position(3) });
    });
  });

  describe('dependents', () => {
    /** More than one page of the stores. */
    const more = isReal ? pageSize + 3 : 40;
    const many = Array.from({ length: more }, (_, index) =>
      conversation(`h${String(index).padStart(5, '0')}`, 'ti_h', index % 60, { refs: ['contact:con_h'] }),
    );
    const ids = many.map(({ _id }) => _id);

    beforeAll(async () => {
      await given(many);
      await given([
        conversation('hb', 'ti_h2', 1, { refs: ['contact:con_few', 'tags:tag_few'] }),
        conversation('hc', 'ti_h2', 1, { refs: ['tags:con_few'] }),
      ]);
    });

    it('are found in one read by any of several references, each once', async () => {
      const find = (refs: string[]) => opened.store.findDependents('conversation', refs);
      expect(await find(['contact:con_few', 'tags:tag_few', 'x:y'])).toEqual(['hb']);
      expect(await find(['contact:con_none'])).toEqual([]);
      expect(await find(['contact:con_h', 'contact:con_few'])).toBeNull();
    });

    it('come in pages in the order of their ids after a cursor, with documents written meanwhile', async () => {
      const page = (after: string) => opened.store.pageOfDependents('conversation', 'contact:con_h', after);
      expect(await allPages(page)).toEqual(ids);
      const last = ids.at(-2) ?? '';
      await given([conversation(`${last}x`, 'ti_i', 1, { refs: ['contact:con_h'] })]);
      expect(await allPages(page, last)).toEqual([`${last}x`, ids.at(-1)]);
    });
  });

  describe('of the fields of the engine', () => {
    it('a fan-out cursor is saved only on the state that it belongs to', async () => {
      const [living, dead] = [conversation('i1', 'ti_i', 1, { version: 3 }), conversation('i2', 'ti_i')];
      await given([living, tombstoneOf(dead)]);
      const cursor = { from: 'ticket' as const, edge: 'conversations', after: 'ti_7' };
      const save = (id: string, version: number, isDeleted: boolean, to: typeof cursor | null) =>
        opened.store.saveFanOutCursor('conversation', { id, version, isDeleted }, to);
      await save('i1', 3, false, cursor);
      await save('i2', 1, true, cursor);
      // and not on another version, a wrong deletion flag, or a missing document
      await save('i1', 2, false, null);
      await save('i1', 3, true, null);
      await save('i2', 1, false, null);
      await save('i3', 1, false, cursor);
      expect(await find('i1')).toEqual({ ...living, fanOutCursor: cursor });
      expect(await find('i2')).toEqual({ ...tombstoneOf(dead), fanOutCursor: cursor });
      expect(await find('i3')).toBeNull();
      await save('i1', 3, false, null);
      expect(await find('i1')).toEqual(living);
    });
  });
});
