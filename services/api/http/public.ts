/** Whether a path belongs to the documentation. */
const isDocs = (path: string): boolean =>
  path === '/docs' || path === '/docs.md' || path === '/llms.txt' || path.startsWith('/docs/');

/** Whether a path needs no key and contains no organization's data. */
export const isPublic = (path: string): boolean =>
  path === '/health' || path === '/openapi.json' || isDocs(path);
