import type { Db } from 'mongodb';
import type { MessageDocument } from '../../../../shared/documents/message.ts';
import { collectionOf } from '../../../../shared/runtime/mongo.ts';
import { withDeadline } from '../../store/deadline.ts';
import { threadFilter } from '../messages/query.ts';
import { presentEmbeddedMessage } from './presenter.ts';
import type { ConversationHead } from './schema.ts';

/** Messages read at once; with the driver's reading ahead this, not the thread's length, bounds memory. */
const batchSize = 200;
/** Text is handed on in pieces of about this many characters: many small writes cost more than the JSON. */
const chunkLength = 65_536;

type Read = Pick<MessageDocument, 'own'>;

/** Every message of a thread, oldest first. Ending the generator early closes the store's cursor. */
export async function* readThread(
  database: Db,
  orgId: string,
  conversationId: string,
): AsyncGenerator<Read[], void> {
  const cursor = collectionOf<MessageDocument>(database, 'message')
    .find(threadFilter(orgId, conversationId, null), { hint: 'thread', sort: { byCreated: 1 }, batchSize })
    .project<Read>({ own: 1 });
  try {
    while (await withDeadline(cursor.hasNext())) yield cursor.readBufferedDocuments();
  } finally {
    await cursor.close();
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
