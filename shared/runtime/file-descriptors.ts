import { readFileSync } from 'node:fs';
import type { Logger } from './logger.ts';

/**
 * Descriptors besides the connections: log, certificates, probes, scrapes, monitors of MongoDB's members, Node itself.
 */
const otherDescriptors = 100;

/** The maximum number of files and connections that this process may open; null if Linux reports no limit. */
function descriptorLimit(): number | null {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? null : Number(limit);
  } catch {
    return null;
  }
}

/**
 * Warns at the start if the limit of open files is too low for the connections. A warning at the limit itself is not
 * possible, because Node then closes new connections without an event.
 */
export function warnOfFewDescriptors(logger: Logger, connections: number): void {
  const limit = descriptorLimit();
  const needed = connections + otherDescriptors;
  if (limit === null || limit >= needed) return;
  logger.warn({ limit, needed }, 'this process may open too few file descriptors for its connections');
}
