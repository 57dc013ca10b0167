import type { Db } from 'mongodb';
import type { MessageDocument } from '../../../../shared/documents/message.ts';
import { collectionOf } from '../../../../shared/runtime/mongo.ts';
import { withDeadline } from '../../store/deadline.ts';
import { threadFilter } from '../messages/query.ts';
import { presentEmbeddedMessage } from './presenter.ts';
import type { ConversationHead } from './schema.ts';

/**
 * Messages read at once. This bounds memory, not the thread's length: of 100,000 messages (48 MB of JSON) the
 * process grew by 20 MB; by 50 MB with 200 at once, as more is then alive whenever V8 collects.
 */
const batchSize = 100;
/** Text is handed on in pieces of about this many characters: many small writes cost more than the JSON. */
const chunkLength = 32_768;
const closeTimeoutMs = 1_000;

type Read = { own: Parameters<typeof presentEmbeddedMessage>[0] };

const shown = { id: 1, role: 1, content: 1, createdAt: 1, sentAt: 1, attachments: 1 };

/** Every message of a thread, oldest first. Ending the generator early closes the store's cursor. */
export async function* readThread(
  database: Db,
  orgId: string,
  conversationId: string,
): AsyncGenerator<Read[], void> {
  const cursor = collectionOf<MessageDocument>(database, 'message')
    .find(threadFilter(orgId, conversationId, null), { hint: 'thread', sort: { byCreated: 1 }, batchSize })
    .project<Read>({ _id: 0, own: shown });
  try {
    while (await withDeadline(cursor.hasNext())) yield cursor.readBufferedDocuments();
  } finally {
    // A store that is silent would not answer this either; it drops idle cursors by itself.
    await withDeadline(cursor.close(), closeTimeoutMs).catch(() => undefined);
  }
}

/** The JSON text of a conversation with its messages, piece by piece; nothing comes before the first batch has. */
export async function* conversationChunks(
  head: ConversationHead,
  thread: AsyncIterable<Read[]>,
): AsyncGenerator<string, void> {
  let text = `${JSON.stringify(head).slice(0, -1)},"messages":[`;
  let separator = '';
  for await (const batch of thread) {
    for (const { own } of batch) {
      text += separator + JSON.stringify(presentEmbeddedMessage(own));
      separator = ',';
      if (text.length < chunkLength) continue;
      yield text;
      text = '';
    }
  }
  yield `${text}]}`;
}
