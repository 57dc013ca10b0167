import { listEnvelope } from './list-envelope.ts';
import { type ItemWriter, streamPage } from './list-page.ts';

const url = '/v1/letters';
/** A list is sent only once its first 256 K characters have been read. */
const heldLength = 262_144;
const cursorOf = (sortKey: string) => `after ${sortKey}`;
const cursorAfter = (sortKey: string | null) => (sortKey === null ? null : cursorOf(sortKey));
const present = (id: string) => ({ id });

async function* charactersOf(text: string) {
  for (const character of text) yield character;
}

/** Writes a page in pieces. Returns its text, and its cursor once more characters have been written than are held. */
async function writeList(
  items: string[],
  nextKey: string | null,
  writer: Partial<ItemWriter<string, { id: string }>> = {},
) {
  const page = {
    path: url,
    items,
    presented: items.map(present),
    nextCursor: cursorAfter(nextKey),
    cursorOf,
  };
  const answer = streamPage(page, {
    keyOf: (item) => item,
    write: (_, presented) => charactersOf(JSON.stringify(presented)),
    isFull: () => false,
    ...writer,
  });
  if (!('chunks' in answer) || !answer.readNextCursor) throw new Error('the page is not written in pieces');
  const { chunks, readNextCursor } = answer;
  let text = '';
  let known: string | null = null;
  for await (const chunk of chunks) {
    text += chunk;
    if (text.length > heldLength) known ??= readNextCursor();
  }
  return { text, known };
}

describe('a list written in pieces', () => {
  test.each([
    { name: 'one item', items: ['a'], nextKey: null },
    { name: 'several, and more after them', items: ['a', 'b', 'c'], nextKey: 'c' },
  ])('has the same text as one written at once: $name', async ({ items, nextKey }) => {
    const unsplitText = JSON.stringify(listEnvelope(url, items.map(present), cursorAfter(nextKey)));
    const { text } = await writeList(items, nextKey);
    expect(text).toBe(unsplitText);
  });

  test.each([
    {
      name: 'between two items',
      fullAfter: 2,
      items: ['a', 'b', 'c'],
      expected: ['a', 'b'],
      cursor: 'after b',
    },
    {
      name: 'after the first item, although the page is full',
      fullAfter: 0,
      items: ['a', 'b', 'c'],
      expected: ['a'],
      cursor: 'after a',
    },
    {
      name: 'as the last page if its last item fills it',
      fullAfter: 2,
      items: ['a', 'b'],
      expected: ['a', 'b'],
      cursor: null,
    },
  ])('ends $name, and its cursor continues from there', async ({ fullAfter, items, expected, cursor }) => {
    let count = 0;
    const write = (item: string) => {
      count += 1;
      return charactersOf(JSON.stringify(present(item)));
    };
    const { text } = await writeList(items, null, { write, isFull: () => count >= fullAfter });
    expect(text).toBe(JSON.stringify(listEnvelope(url, expected.map(present), cursor)));
  });

  test('ends after the item that exceeds the buffer, and has the cursor before that item is sent', async () => {
    const write = (item: string) => charactersOf(JSON.stringify(item === 'b' ? 'b'.repeat(300_000) : item));
    const { text, known } = await writeList(['a', 'b', 'c'], null, { write });
    expect(JSON.parse(text)).toMatchObject({ data: ['a', expect.any(String)], nextCursor: 'after b' });
    expect(known).toBe('after b');
  });
});
