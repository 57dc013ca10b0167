import * as build from './builders.ts';
import { useApi } from './test-api.ts';

const message = (conversationId: string, index: number, content: string | null) =>
  build.message({
    id: `msg_${conversationId}_${index}`,
    conversationId,
    createdAt: new Date(Date.parse(build.at) + index * 1_000).toISOString(),
    content,
  });

const ids = ['conv_none', 'conv_textless', 'conv_long', 'conv_empty'];
const api = useApi({
  conversation: ids.map((id) => build.conversation({ id })),
  message: [
    // Stored in a different order from the thread.
    message('conv_long', 2, 'third'),
    message('conv_long', 1, 'second'),
    message('conv_long', 0, 'a'.repeat(100_000)),
    message('conv_textless', 0, null),
    message('conv_textless', 1, 'Hello'),
    message('conv_empty', 0, ''),
  ],
});

type Conversation = { lastMessagePreview: string | null; messages: unknown[] };
const retrieve = async (id: string) => (await api.get(`/v1/conversations/${id}`)).json() as Conversation;

it.each([
  ['is null without messages', 'conv_none', null, 0],
  ['is null if the opening message has no text, whatever follows it', 'conv_textless', null, 2],
  ['is the beginning of the opening message', 'conv_long', `${'a'.repeat(200)}…`, 3],
  ['is the text that the opening message has, even an empty one', 'conv_empty', '', 1],
])('the preview %s', async (_, id, preview, count) => {
  const { lastMessagePreview, messages } = await retrieve(id);
  expect(lastMessagePreview).toBe(preview);
  expect(messages).toHaveLength(count);
});
