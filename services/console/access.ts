import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isInRanges } from '../../shared/runtime/addresses.ts';
import type { AccessConfig } from './config.ts';

/** Why a request is refused: its status, a text for the client, and headers. */
export type Refusal = { status: 401 | 403 | 421; text: string; headers?: Record<string, string> };

type Access = Pick<
  AccessConfig,
  'CONSOLE_HOSTNAMES' | 'CONSOLE_TOKEN' | 'CONSOLE_TRUSTED_PROXIES' | 'CONSOLE_USER_HEADER'
>;
type Request = Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } };

/** Returns why a request is refused, or null. */
export function refusal(access: Access, request: Request): Refusal | null {
  if (!isOwnHost(access, request.headers.host))
    return { status: 421, text: 'Unknown host name: CONSOLE_HOSTNAMES lists the names of the console.\n' };
  const { CONSOLE_TOKEN: token, CONSOLE_USER_HEADER: userHeader } = access;
  if (!token && !userHeader) return null;
  if (userHeader && isAuthenticated(access, userHeader, request)) return null;
  if (token && isToken(token, request.headers.authorization)) return null;
  if (!token) return { status: 403, text: 'The console answers its authenticating proxy only.\n' };
  return {
    status: 401,
    text: 'The console needs its token (CONSOLE_TOKEN), as a bearer token or as the password.\n',
    headers: { 'WWW-Authenticate': 'Basic realm="console", charset="UTF-8"' },
  };
}

/**
 * Whether the header `Host` names this console. A foreign page can make its own name resolve to this machine, and would
 * then be of the same origin (DNS rebinding). It cannot do so with an address or with localhost.
 */
function isOwnHost({ CONSOLE_HOSTNAMES: names }: Access, host: string | undefined): boolean {
  const [, bracketed, plain = ''] =
    /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
  if (bracketed) return ipaddr.IPv6.isValid(bracketed);
  const name = plain.toLowerCase();
  return name === 'localhost' || names.includes(name) || ipaddr.IPv4.isValidFourPartDecimal(name);
}

const isAuthenticated = (
  { CONSOLE_TRUSTED_PROXIES: proxies }: Access,
  userHeader: string,
  { socket, headers }: Request,
): boolean =>
  isInRanges(proxies, socket.remoteAddress) && String(headers[userHeader.toLowerCase()] ?? '').trim() !== '';

function isToken(token: string, authorization: string | undefined): boolean {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization ?? '') ?? [];
  const given =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(credentials, 'base64')
          .toString()
          .replace(/^[^:]*:/, '')
      : credentials;
  // Hashes have the same length, and the time of their comparison says nothing of the token.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}
