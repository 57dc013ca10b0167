import { objectChunks } from '../../paging/json-chunks.ts';
import { readRange } from '../../paging/read-range.ts';
import type { StoreReader } from '../../store/reader.ts';
import { threadQuery, type Thread } from '../messages.ts';
import { presentEmbeddedMessage } from './presenter.ts';
import type { ConversationHead, EmbeddedMessage } from './schema.ts';

/**
 * Messages in one reply of the store. This limits memory, not the length of the thread: for 100,000 messages (48 MB of
 * JSON) the process grew by 20 MB, and by 50 MB with batches of 200, because more objects survive each garbage
 * collection.
 */
const batchSize = 100;

type StoredMessage = { state: Parameters<typeof presentEmbeddedMessage>[0] };

const projection = {
  _id: 0,
  'state.id': 1,
  'state.role': 1,
  'state.content': 1,
  'state.createdAt': 1,
  'state.sentAt': 1,
  'state.attachments': 1,
};

/** Reads every message of a thread, oldest first. */
export const readThread = (store: StoreReader, thread: Thread): AsyncGenerator<StoredMessage[], void> =>
  readRange<StoredMessage>(store, threadQuery(thread, null), { projection, batchSize });

/** The JSON text of a conversation with its messages, in pieces; `head` receives the opening message. */
export const conversationChunks = (
  head: (opening: EmbeddedMessage | undefined) => ConversationHead,
  thread: AsyncIterable<StoredMessage[]>,
): AsyncGenerator<string, void> =>
  objectChunks(thread, {
    before: head,
    name: 'messages',
    present: ({ state }) => presentEmbeddedMessage(state),
    after: {},
  });
