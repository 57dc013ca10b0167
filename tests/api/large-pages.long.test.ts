import * as build from './builders.ts';
import { useApi } from './test-api.ts';

const count = 40;
const content = 'x'.repeat(900_000);
const ids = Array.from({ length: count }, (_, index) => `msg_${String(index).padStart(3, '0')}`);

const api = useApi({ conversation: [build.conversation({ id: 'conv_1' })] });

// Each is inserted by itself: together they exceed one message to the store.
beforeAll(async () => {
  for (const id of ids) await build.store(api.store.database, 'message', [build.message({ id, content })]);
});

type List = { data: { id: string }[]; hasMore: boolean; nextCursor: string | null };

it('a page of large items ends early, and the next pages contain the rest', async () => {
  const pages: List[] = [];
  let after = '';
  do {
    const answer = await api.get(`/v1/conversations/conv_1/messages?limit=100${after}`);
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeLessThan(2.1 * 1024 * 1024);
    const page = answer.json() as List;
    pages.push(page);
    after = `&startingAfter=${page.nextCursor}`;
  } while (pages.at(-1)?.hasMore);
  expect(pages.map(({ hasMore }) => hasMore)).toEqual(pages.map((_, index) => index < pages.length - 1));
  expect(pages.length).toBeLessThanOrEqual(count / 2);
  expect(pages.at(-1)?.nextCursor).toBeNull();
  expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(ids);
});

it('the rest of a thread of large messages is read in replies of a page', async () => {
  api.commands.splice(0);
  const answer = await api.get('/v1/conversations/conv_1');
  expect((answer.json() as { messages: unknown[] }).messages).toHaveLength(count);
  const [, ...later] = api.commands.flatMap(({ command }) =>
    command.find === 'messages' ? [command.limit as number] : [],
  );
  // Two messages a page, and one more to know whether others follow.
  expect(later).toEqual(later.map(() => 3));
});
