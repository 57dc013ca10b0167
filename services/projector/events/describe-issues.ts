import type { z } from 'zod';

/** The most issues of one record that are named; the rest are counted. */
const issuesMax = 5;

/**
 * Describes issues as paths and rules, such as `data.status: Invalid option: …`. It never quotes the value: paths
 * consist of declared field names and array indexes, and rules say what was expected.
 */
export function describeIssues(error: z.ZodError, root?: string): string {
  const named = error.issues
    .slice(0, issuesMax)
    .map(({ path, message }) => `${[...(root ? [root] : []), ...path].join('.')}: ${message}`);
  const more = error.issues.length - named.length;
  return named.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
