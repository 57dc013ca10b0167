/**
 * Rewrites a request target to origin form, `/path?query`, in visible ASCII, as Koa and the router expect. Proxies may
 * send the absolute form, and Node passes raw bytes above 0x7f through as Latin-1.
 */
export function originForm(target: string): string {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  const rooted = local.startsWith('/') || local === '*' ? local : `/${local}`;
  return rooted.replace(/[^!-~]/g, (character) => encodeURIComponent(character));
}
