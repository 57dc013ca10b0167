/**
 * The content security policy of every page: scripts, styles, fonts, images and data come from the page's own service,
 * and no script or style is inline. `changes` replaces directives.
 */
export const securityPolicy = (changes: Record<string, string> = {}): string =>
  Object.entries({ ...directives, ...changes })
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');

const directives = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'connect-src': "'self'",
  'img-src': "'self'",
  'font-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};
