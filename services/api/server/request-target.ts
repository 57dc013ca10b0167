/** The longest request target, in bytes; a longer one is 414. */
export const targetLengthMax = 8_192;

/**
 * Rewrites a request target to origin form, `/path?query`, in visible ASCII, as Koa and the router expect. Proxies may
 * send the absolute form, and Node passes raw bytes above 0x7f through as Latin-1. Cuts an overlong target, which gets
 * 414 before it costs more than others.
 */
export function originForm(target: string): string {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  const rooted = local.startsWith('/') || local === '*' ? local : `/${local}`;
  return rooted
    .slice(0, targetLengthMax + 1)
    .replace(/[^!-~]/g, (character) => encodeURIComponent(character));
}
