import type { z } from 'zod';

/** How many faults of one record are named; the rest are counted. */
const faultsMax = 5;

/**
 * What is wrong, as paths and rules, such as `data.status: Invalid option: …`. It never quotes what was
 * found: paths consist of declared field names and array indexes, and rules of what was expected.
 */
export function describeIssues(error: z.ZodError, root?: string): string {
  const faults = error.issues
    .slice(0, faultsMax)
    .map(({ path, message }) => `${[...(root ? [root] : []), ...path].join('.')}: ${message}`);
  const more = error.issues.length - faults.length;
  return faults.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
