import { readFileSync } from 'node:fs';
import type { Logger } from './logger.ts';

/**
 * Descriptors besides the connections: log, certificates, probes, scrapes, monitors of MongoDB's members, Node itself.
 */
const otherDescriptors = 100;

/** The most files and connections that this process may have open; null if Linux reports no limit. */
function descriptorLimit(): number | null {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? null : Number(limit);
  } catch {
    return null;
  }
}

/**
 * Warns at the start if the limit of open files is too low for the connections. At the limit itself no warning would be
 * possible: Node closes new connections at once, without an event that could be logged or counted.
 */
export function warnOfFewDescriptors(logger: Logger, connections: number): void {
  const limit = descriptorLimit();
  const needed = connections + otherDescriptors;
  if (limit === null || limit >= needed) return;
  logger.warn({ limit, needed }, 'this process may open too few file descriptors for its connections');
}
