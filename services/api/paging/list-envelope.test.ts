import { decodeCursor } from './cursor.ts';
import { listChunks, listEnvelope } from './list-envelope.ts';

const scope = { orgId: 'org_a', list: 'letters', sort: 'createdAt', filters: null };
const path = '/v1/letters';
const keyOf = (id: string) => `2026-01-01T00:00:00.000Z${id}`;
const present = (id: string) => ({ id });

async function* charactersOf(text: string) {
  for (const character of text) yield character;
}

/** Writes the items in pieces; the page is full after `fullAfter` items. */
async function writeList(page: { items: string[]; nextKey: string | null }, fullAfter: number) {
  let count = 0;
  const { chunks, nextCursor } = listChunks(
    page,
    { scope, path },
    {
      keyOf,
      isFull: () => count >= fullAfter,
      write: (item) => {
        count += 1;
        return charactersOf(JSON.stringify(present(item)));
      },
    },
  );
  let text = '';
  for await (const chunk of chunks) text += chunk;
  // The header `Link` has the cursor of the body.
  expect((JSON.parse(text) as { nextCursor: string | null }).nextCursor).toBe(nextCursor());
  return text;
}

describe('a list written in pieces', () => {
  it.each([
    ['no items', [], false],
    ['one', ['a'], false],
    ['several', ['a', 'b', 'c'], false],
    ['several, and more after them', ['a', 'b', 'c'], true],
  ])('has the same text as one written at once: %s', async (_, items, hasMore) => {
    const page = { items, nextKey: hasMore ? keyOf('c') : null };
    const whole = JSON.stringify(listEnvelope(page, { scope, path }, present));
    expect(await writeList(page, Infinity)).toBe(whole);
  });

  it.each([
    ['between two items', 2, ['a', 'b'], 'b'],
    ['after the first item, although the page is full', 0, ['a'], 'a'],
  ])('ends %s, and its cursor continues from there', async (_, fullAfter, expected, last) => {
    const list = JSON.parse(await writeList({ items: ['a', 'b', 'c'], nextKey: null }, fullAfter)) as {
      data: { id: string }[];
      hasMore: boolean;
      nextCursor: string;
    };
    expect(list.data.map(({ id }) => id)).toEqual(expected);
    expect(list.hasMore).toBe(true);
    expect(decodeCursor(list.nextCursor, scope)).toBe(keyOf(last));
  });

  it('ends after the item with which it is too long to be held, and knows its cursor by then', async () => {
    const items = ['a', 'b', 'c'];
    const write = (item: string) => charactersOf(JSON.stringify(item === 'b' ? 'b'.repeat(300_000) : item));
    const { chunks, nextCursor } = listChunks(
      { items, nextKey: null },
      { scope, path },
      { keyOf, isFull: () => false, write },
    );
    let text = '';
    let known: string | null = null;
    for await (const chunk of chunks) {
      text += chunk;
      if (known === null && text.length > 262_144) known = nextCursor();
    }
    const list = JSON.parse(text) as { data: string[]; nextCursor: string };
    expect([list.data.length, list.nextCursor]).toEqual([2, known]);
    expect(decodeCursor(list.nextCursor, scope)).toBe(keyOf('b'));
  });

  it('is the last page if its last item fills it', async () => {
    const list = JSON.parse(await writeList({ items: ['a', 'b'], nextKey: null }, 2)) as object;
    expect(list).toMatchObject({ hasMore: false, nextCursor: null });
  });
});
