import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { ConsoleConfig } from './config.ts';

/** The response to a refused request: its status, a text for the client, and headers. */
type Refusal = { status: 401 | 403 | 421; text: string; headers?: Record<string, string> };

type Access = Pick<ConsoleConfig, 'CONSOLE_HOSTNAMES' | 'CONSOLE_TOKEN'>;

/** The refusal of a request; null if the request is allowed. */
export function findRefusal(access: Access, { headers }: Pick<IncomingMessage, 'headers'>): Refusal | null {
  if (!isOwnHost(access, headers.host))
    return { status: 421, text: 'Unknown host name: CONSOLE_HOSTNAMES lists the names of the console.\n' };
  if (isEmbedded(headers))
    return { status: 403, text: 'A page of another site has sent this request. Open the console itself.\n' };
  const { CONSOLE_TOKEN: token } = access;
  if (!token || hasToken(token, headers.authorization)) return null;
  return {
    status: 401,
    text: 'The console needs its token (CONSOLE_TOKEN), as a bearer token or as the password.\n',
    headers: { 'WWW-Authenticate': 'Basic realm="console", charset="UTF-8"' },
  };
}

/**
 * Whether the `Host` header names this console. A foreign site could make its own name resolve to this machine, so that
 * a browser takes its pages and the console for one origin (DNS rebinding). It cannot do this with an address or with
 * localhost, so these are allowed.
 */
function isOwnHost({ CONSOLE_HOSTNAMES: names }: Access, host: string | undefined): boolean {
  const [, bracketed, plain = ''] =
    /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
  if (bracketed) return ipaddr.IPv6.isValid(bracketed);
  const name = plain.toLowerCase();
  return name === 'localhost' || names.includes(name) || ipaddr.IPv4.isValidFourPartDecimal(name);
}

/**
 * Whether a page of another site loads this page as a picture, a script or a frame, because many of these loads would
 * burden MongoDB. A link to the console is allowed. Programs are allowed too: only browsers send these headers.
 */
function isEmbedded(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'none' || site === 'same-origin') return false;
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

/** Whether the `Authorization` header carries the token: as a bearer token, or as the password of any user name. */
function hasToken(token: string, authorization: string | undefined): boolean {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization ?? '') ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  const presented = isBasic ? passwordIn(credentials) : credentials;
  // Hashes have the same length, so the time of a comparison does not reveal the token.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(presented), hash(token));
}

/** The password in Basic credentials: the base64 of `user:password`. */
function passwordIn(credentials: string): string {
  const text = Buffer.from(credentials, 'base64').toString();
  return text.replace(/^[^:]*:/, '');
}
