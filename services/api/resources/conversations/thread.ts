import { type AlreadyRead, readRange } from '../../paging/read-range.ts';
import { threadBatchSize, type ThreadMessage, threadProjection } from '../../store/find-threads.ts';
import type { StoreReader } from '../../store/reader.ts';
import { type Thread, threadQuery } from '../messages.ts';

/** Reads every message of a thread, oldest first. */
export async function* readThread(store: StoreReader, thread: Thread): AsyncGenerator<ThreadMessage[], void> {
  const start = yield* readStart(store, thread);
  if (start.isComplete) return;
  yield* readRange<ThreadMessage>(store, (key) => threadQuery(thread, key), {
    projection: threadProjection,
    batchSize: threadBatchSize,
    alreadyRead: start,
  });
}

/**
 * Yields the start of a thread, and returns whether that is the whole thread. It is a separate generator, so V8 can
 * free these messages before the API reads the rest.
 */
async function* readStart(
  store: StoreReader,
  { from, conversationId }: Thread,
): AsyncGenerator<ThreadMessage[], AlreadyRead & { isComplete: boolean }> {
  const { documents: messages, replyBytes, isComplete } = await store.findThread(conversationId);
  const release = store.hold(replyBytes);
  yield from === null ? messages : messages.filter(({ byCreated }) => byCreated >= from);
  release();
  const key = messages.at(-1)?.byCreated ?? null;
  return { isComplete, key, items: messages.length, bytes: replyBytes };
}
