import { LRUCache } from 'lru-cache';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { OnUnreadable } from './readable.ts';

/**
 * The log names a document at most once in this time, because clients may often request its page.
 */
const namedOnceInMs = 60_000;
const entriesMax = 1_000;

type UnreadableReportDeps = { leftOut: Counter<'kind'>; logger: Logger; nowMs: () => number };

/** Counts each time that a list leaves a document out, and names the document in the log. */
export function createUnreadableReport({ leftOut, logger, nowMs }: UnreadableReportDeps): OnUnreadable {
  const named = new LRUCache<string, true>({
    max: entriesMax,
    ttl: namedOnceInMs,
    ttlResolution: 0,
    perf: { now: nowMs },
  });
  return (error) => {
    const { kind, id } = error;
    leftOut.inc({ kind });
    const key = `${kind}/${id}`;
    if (named.has(key)) return;
    named.set(key, true);
    logger.error({ kind, id, error }, 'a document cannot be read; lists leave it out (support-cli verify)');
  };
}
