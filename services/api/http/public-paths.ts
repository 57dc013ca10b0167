/** Paths that need no key and show no organization's data. */
const publicPaths = ['/health', '/openapi.json'];

export const isPublic = (path: string): boolean => publicPaths.includes(path);
