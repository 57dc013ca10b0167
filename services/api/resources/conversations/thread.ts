import { readRange } from '../../paging/read-range.ts';
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
    before: start,
  });
}

/** `key` is the sort key of the last message that the start contains. */
type ThreadStart = { isComplete: boolean; key: string | null; items: number; bytes: number };

/** Yields the start of a thread. A separate generator, so its messages can be freed before the API reads the rest. */
async function* readStart(
  store: StoreReader,
  { from, conversationId }: Thread,
): AsyncGenerator<ThreadMessage[], ThreadStart> {
  const { documents: messages, replyBytes, isComplete } = await store.findThread(conversationId);
  const release = store.hold(replyBytes);
  yield from === null ? messages : messages.filter(({ byCreated }) => byCreated >= from);
  release();
  const key = messages.at(-1)?.byCreated ?? null;
  return { isComplete, key, items: messages.length, bytes: replyBytes };
}
