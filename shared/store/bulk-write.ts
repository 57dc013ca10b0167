import {
  MongoNetworkTimeoutError,
  type AnyBulkWriteOperation,
  type Collection,
  type Document,
} from 'mongodb';

/**
 * Longer than a write waits for a majority. Without a limit the driver waits for ever if the primary falls silent while a
 * command is written that is larger than the buffers of the socket.
 */
const bulkTimeoutMs = 60_000;

/** An unordered bulk write. After the limit it fails as a lost connection does: the writes may have applied. */
export async function bulkWrite<T extends Document>(
  collection: Collection<T>,
  operations: AnyBulkWriteOperation<T>[],
  limitMs = bulkTimeoutMs,
): Promise<void> {
  const controller = new AbortController();
  const expire = () => controller.abort(new MongoNetworkTimeoutError(`no reply within ${limitMs} ms`));
  const timer = setTimeout(expire, limitMs);
  // The driver passes the signal on, although its types name it for reads alone.
  const options = { ordered: false, signal: controller.signal };
  try {
    await collection.bulkWrite(operations, options);
  } finally {
    clearTimeout(timer);
  }
}
