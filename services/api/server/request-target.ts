/**
 * A request target in origin form, `/path?query`, of visible ASCII: what Koa and the router expect. Proxies
 * may send the absolute form, and Node lets raw bytes above 0x7f through as Latin-1.
 */
export function originForm(target: string): string {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  const rooted = local.startsWith('/') || local === '*' ? local : `/${local}`;
  return rooted.replace(/[^!-~]/g, (character) => encodeURIComponent(character));
}
