/** Paths that need no key and contain no organization's data. */
const publicPaths = ['/health', '/openapi.json'];

/** The documentation pages and their assets. */
export const isDocs = (path: string): boolean => path === '/docs' || path.startsWith('/docs/');

export const isPublic = (path: string): boolean => publicPaths.includes(path) || isDocs(path);
