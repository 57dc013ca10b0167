import { pageSize } from '../../services/projector/materialize/mongo-store.ts';
import { previewReadMax } from '../../services/projector/projections/preview.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { emptyData, memoryStore } from '../simulation/memory-store.ts';
import { openEngineStore } from './engine-store.ts';

const position = (offset: number) => ({ partition: 0, offset, timestampMs: offset });

const message = (id: string, conversationId: string, second: number): StoredDocument => ({
  _id: id,
  orgId: 'org_1',
  version: 1,
  revision: 1,
  at: position(1),
  own: { id, conversationId, content: 'Hello' },
  joined: { author: null },
  refs: [`contact:con_${id}`],
  byCreated: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z${id}`,
});

const put = (document: StoredDocument) => ({ op: 'put' as const, document, guard: null });

/** Every page of dependents, from a place on. */
const all = async (store: Store, orgIds: string[], by: Parameters<Store['dependents']>[2], after = '') => {
  const found: string[] = [];
  for (let place: string | null = after; place !== null;) {
    const { ids, next } = await store.dependents('message', orgIds, by, place);
    found.push(...ids);
    place = next;
  }
  return found;
};

/** What the engine relies on, of the real store and of the one that the simulation runs on. */
describe.each(['the real store', "the simulation's store"])('%s', (name) => {
  let store: Store;
  let close = async () => {};

  beforeAll(async () => {
    if (name === "the simulation's store") {
      store = memoryStore(emptyData());
      return;
    }
    ({ store, close } = await openEngineStore());
  }, 120_000);

  afterAll(() => close());

  const given = (documents: StoredDocument[]) => store.write('message', documents.map(put));
  const read = async (id: string) => (await store.read('message', [id]))[0];

  it('reads what was written, without the bulky field, and leaves out what is not there', async () => {
    const document = message('a1', 'conv_a', 1);
    expect(await given([document])).toEqual(new Set());
    expect(await store.read('message', ['a1', 'a0'])).toEqual([
      { ...document, own: { id: 'a1', conversationId: 'conv_a' } },
    ]);
    expect(await store.refer('message', ['a1', 'a1', 'a0'])).toEqual([
      { _id: 'a1', orgId: 'org_1', own: document.own },
    ]);
  });

  it('reads in parts what is large together, and each of it', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `l${index}`);
    const title = 'x'.repeat(900_000);
    const conversation = (id: string) => ({
      ...message(id, 'conv_l', 1),
      own: { id, ticketId: 'ti_1', title },
    });
    await store.write(
      'conversation',
      ids.map((id) => put(conversation(id))),
    );
    const found: string[] = [];
    const sizes: number[] = [];
    for (let open = [...ids, 'l30']; open.length > 0;) {
      const { documents, rest } = await store.readSome('conversation', open);
      sizes.push(documents.length);
      found.push(...documents.map(({ _id }) => _id));
      open = rest;
    }
    expect(Math.max(...sizes) * title.length).toBeLessThan(17 * 1024 * 1024);
    expect(found.sort()).toEqual(ids.sort());
  }, 60_000);

  it('refuses a new document whose id is taken, and applies the rest of the bulk', async () => {
    await given([message('b1', 'conv_b', 1)]);
    expect(await given([{ ...message('b1', 'conv_x', 1), version: 9 }, message('b2', 'conv_b', 2)])).toEqual(
      new Set(['b1']),
    );
    expect([(await read('b1'))?.version, (await read('b2'))?.version]).toEqual([1, 1]);
  });

  it('applies a write to the revision it was built on alone', async () => {
    const document = message('c1', 'conv_c', 1);
    await given([document]);
    const next = { ...document, version: 2, revision: 2 };
    const write = { op: 'put' as const, document: next, guard: { revision: 1, orgId: 'org_1' } };
    expect(await store.write('message', [write])).toEqual(new Set());
    expect(await store.write('message', [{ ...write, document: { ...next, version: 3 } }])).toEqual(
      new Set(['c1']),
    );
    expect((await read('c1'))?.version).toBe(2);
  });

  it('gives an organization to what a tombstone has left without one', async () => {
    const bare = { _id: 'd1', orgId: null, version: 0, revision: 1, at: null, cut: position(4) };
    await given([bare]);
    const document = { ...message('d1', 'conv_d', 1), revision: 2, cut: position(4) };
    const guard = { revision: 1, orgId: null };
    expect(await store.write('message', [{ op: 'put', document, guard }])).toEqual(new Set());
    expect(await read('d1')).toMatchObject({ orgId: 'org_1', cut: position(4) });
  });

  it('joins anew without touching the own state, and takes `pending` away with it', async () => {
    const document = { ...message('e1', 'conv_e', 1), pending: true as const };
    await given([document]);
    const { pending: _pending, own: _own, ...rest } = document;
    const joined = { author: { name: 'Ann', email: null } };
    const change = { ...rest, own: {}, joined, refs: ['contact:con_2'], at: position(7), revision: 2 };
    const guard = { revision: 1, orgId: 'org_1' };
    expect(await store.write('message', [{ op: 'join', document: change, guard }])).toEqual(new Set());
    const [stored] = await store.refer('message', ['e1']);
    expect(stored?.own).toEqual(document.own);
    const after = await read('e1');
    expect(after).toMatchObject({ joined, refs: ['contact:con_2'], at: position(7), revision: 2 });
    expect(after).not.toHaveProperty('pending');
    expect(await store.write('message', [{ op: 'join', document: change, guard }])).toEqual(new Set(['e1']));
  });

  it('finds children and the first of them by their parent, within the organization, the living only', async () => {
    const other = { ...message('f4', 'conv_f', 0), orgId: 'org_2' };
    const {
      own: _own,
      joined: _joined,
      refs: _refs,
      byCreated: _key,
      ...envelope
    } = message('f5', 'conv_f', 0);
    const dead = { ...envelope, deletedAt: new Date(0) };
    await given([
      message('f1', 'conv_f', 3),
      message('f2', 'conv_f', 2),
      message('f3', 'conv_g', 9),
      other,
      dead,
    ]);
    const children = await store.children('message', 'conversationId', ['org_1'], ['conv_f', 'conv_g']);
    expect(children.map(({ _id }) => _id).sort()).toEqual(['f1', 'f2', 'f3']);
    const firsts = await store.firsts('message', 'conversationId', 'org_1', [
      'conv_f',
      'conv_g',
      'conv_none',
    ]);
    expect([...firsts].map(([id, first]) => [id, first._id]).sort()).toEqual([
      ['conv_f', 'f2'],
      ['conv_g', 'f3'],
    ]);
  });

  it('gives of a first child no more of its bulky field than may be shown', async () => {
    const content = '😀'.repeat(300_000);
    const [long, none] = [message('g1', 'conv_long', 1), message('g2', 'conv_none', 1)];
    await given([
      { ...long, own: { ...(long.own as object), content } },
      { ...none, own: { ...(none.own as object), content: null } },
    ]);
    const firsts = await store.firsts('message', 'conversationId', 'org_1', ['conv_long', 'conv_none']);
    expect(firsts.get('conv_long')?.own).toEqual({
      ...{ id: 'g1', conversationId: 'conv_long' },
      content: '😀'.repeat(previewReadMax),
    });
    expect(firsts.get('conv_none')?.own).toEqual({ id: 'g2', conversationId: 'conv_none', content: null });
  });

  it('finds the first children of many parents, some with long threads', async () => {
    const ids = Array.from({ length: 130 }, (_, index) => `conv_long_${index}`);
    const thread = (parent: string, index: number) =>
      Array.from({ length: index % 50 === 0 ? 700 : 2 }, (_, at) =>
        message(`${parent}_${at}`, parent, 59 - (at % 60)),
      );
    await given(ids.flatMap(thread));
    const firsts = await store.firsts('message', 'conversationId', 'org_1', ids);
    const expected = ids.map((id, index) => [id, index % 50 === 0 ? `${id}_119` : `${id}_1`]);
    expect([...firsts].map(([id, first]) => [id, first._id]).sort()).toEqual(expected.sort());
  }, 60_000);

  it('finds dependents by what they refer to and by their parent, however many, within the organization', async () => {
    const more = name === 'the real store' ? pageSize + 3 : 150;
    const many = Array.from({ length: more }, (_, index) => ({
      ...message(`h${index}`, 'conv_h', 1),
      refs: ['contact:con_h'],
    }));
    await given([...many, { ...message('h', 'conv_h', 1), refs: ['contact:con_h'], orgId: 'org_2' }]);
    const ids = many.map(({ _id }) => _id).sort();
    const byRefs = { refs: ['contact:con_h', 'contact:x'] };
    const byParent = { parent: 'conversationId', ids: ['conv_h', 'conv_x'] };
    expect(await all(store, ['org_1', 'org_3'], byRefs)).toEqual(ids);
    expect(await all(store, ['org_1'], byParent)).toEqual(ids);
    expect(await all(store, ['org_3'], byParent)).toEqual([]);
    // from a place on, what lies behind it, what came there meanwhile too
    await given([{ ...message('h98x', 'conv_h', 1), refs: ['contact:con_h'] }]);
    expect(await all(store, ['org_1'], byRefs, 'h98')).toEqual(
      [...ids, 'h98x'].filter((id) => id > 'h98').sort(),
    );
  }, 60_000);

  it('notes what dependents have been shown and how far they have been told, on that revision alone', async () => {
    await given([message('i1', 'conv_i', 1), message('i2', 'conv_i', 1)]);
    const fanned = { 'conversation:opening': 'x' };
    const reached = { kind: 'conversation' as const, after: 'conv_7' };
    await store.markFanned('message', [
      { id: 'i1', revision: 1, fanned: {}, reached },
      { id: 'i2', revision: 2, fanned, reached },
      { id: 'i3', revision: 1, fanned },
    ]);
    expect(await read('i1')).toMatchObject({ fanned: {}, reached });
    await store.markFanned('message', [{ id: 'i1', revision: 1, fanned }]);
    expect(await read('i1')).toMatchObject({ fanned });
    expect(await read('i1')).not.toHaveProperty('reached');
    expect(await read('i2')).not.toHaveProperty('fanned');
    expect(await read('i3')).toBeUndefined();
  });
});
