import { objectChunks } from '../../http/json-chunks.ts';
import { readRange } from '../../paging/range-query.ts';
import type { StoreReader } from '../../store/reader.ts';
import { threadQuery, type Thread } from '../messages/query.ts';
import { presentEmbeddedMessage } from './presenter.ts';
import type { ConversationHead, EmbeddedMessage } from './schema.ts';

/**
 * Messages read at once. This bounds memory, not the thread's length: of 100,000 messages (48 MB of JSON) the
 * process grew by 20 MB; by 50 MB with 200 at once, as more is then alive whenever V8 collects.
 */
const batchSize = 100;

type Read = { state: Parameters<typeof presentEmbeddedMessage>[0] };

const shown = { id: 1, role: 1, content: 1, createdAt: 1, sentAt: 1, attachments: 1 };

/** Every message of a thread, oldest first. */
export const readThread = (store: StoreReader, thread: Thread): AsyncGenerator<Read[], void> =>
  readRange<Read>(store, threadQuery(thread, null), { projection: { _id: 0, state: shown }, batchSize });

/** The JSON text of a conversation with its messages, piece by piece; `head` is given the opening message. */
export const conversationChunks = (
  head: (opening: EmbeddedMessage | undefined) => ConversationHead,
  thread: AsyncIterable<Read[]>,
): AsyncGenerator<string, void> =>
  objectChunks(thread, {
    before: head,
    name: 'messages',
    present: ({ state }) => presentEmbeddedMessage(state),
    after: {},
  });
