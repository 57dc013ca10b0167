/** Paths that need no key and show no organization's data. */
const publicPaths = ['/health', '/openapi.json'];

/** The documentation pages and what they load. */
export const isDocs = (path: string): boolean => path === '/docs' || path.startsWith('/docs/');

export const isPublic = (path: string): boolean => publicPaths.includes(path) || isDocs(path);
