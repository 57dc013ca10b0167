import type { LogState } from '../../../shared/kafka/log-client.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';

/** The most partitions that one log line names. */
const namedMax = 10;

/**
 * Returns a function that logs when the end of a log can no longer be read, and when all ends can be read again. The
 * commit loop calls it about once a second, with the logs and the keys of all registered partitions. Until all ends can
 * be read again, each partition or broker causes at most one line.
 */
export function createUnreadLog({ logger }: { logger: Logger }) {
  const logged = new Set<string>();
  return (
    { ends, unreachable }: Pick<LogState, 'ends' | 'unreachable'>,
    partitions: Iterable<string>,
  ): void => {
    const unread = [...partitions].filter((key) => !ends.has(key));
    const failing = [...unread, ...unreachable.map(({ broker }) => `broker ${broker}`)];
    if (failing.length === 0) {
      if (logged.size > 0) logger.warn('the ends of all logs can be read again');
      logged.clear();
      return;
    }
    const isNew = failing.some((name) => !logged.has(name));
    for (const name of failing) logged.add(name);
    if (isNew)
      logger.warn(
        { partitions: unread.slice(0, namedMax), count: unread.length, unreachable },
        'the ends of some logs cannot be read; Data-As-Of stands still',
      );
  };
}
