import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';

/** A range of addresses: its first address and the length of its prefix. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

const isEncrypted = (socket: Socket): boolean => (socket as Partial<TLSSocket>).encrypted === true;

/**
 * Whether the client spoke HTTPS: to us, or to a trusted proxy that says so. Of several values the last one
 * counts, since that is the one which the trusted proxy itself has added.
 */
export function isHttps(trustedProxies: AddressRange[], request: IncomingMessage): boolean {
  if (isEncrypted(request.socket)) return true;
  const forwarded = request.headers['x-forwarded-proto'];
  const said = [forwarded ?? []].flat().join(',').split(',').at(-1)?.trim().toLowerCase();
  return said === 'https' && isTrusted(trustedProxies, request.socket.remoteAddress);
}

function isTrusted(ranges: AddressRange[], address: string | undefined): boolean {
  if (!address || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([first, bits]) => first.kind() === parsed.kind() && parsed.match(first, bits));
}

/**
 * Whose request it is: the peer, or what trusted proxies say of it. They append to `X-Forwarded-For` whom they
 * heard, so the last address there that is no trusted proxy is the client; what stands before it is hearsay.
 * An IPv6 client is its /64, as one host commands that many addresses.
 */
export function clientAddress(trustedProxies: AddressRange[], request: IncomingMessage): string {
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const hops = forwarded.map(bareAddress).reverse();
  let address = request.socket.remoteAddress ?? '';
  for (const hop of hops) {
    if (!isTrusted(trustedProxies, address) || !ipaddr.isValid(hop)) break;
    address = hop;
  }
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`
    : parsed.toString();
}

/** Some proxies add the port. */
function bareAddress(hop: string): string {
  const [, bracketed, dotted] = /^\s*(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(hop) ?? [];
  return bracketed ?? dotted ?? hop.trim();
}

/** The host that the client addressed, as each version of HTTP says it. */
export const hostOf = ({ headers }: IncomingMessage): string | undefined =>
  [headers[':authority']].flat()[0] ?? headers.host;

/** `https://host` as the client addressed it; the socket's own address where it named no usable host. */
export function originOf(https: boolean, host: string | undefined, socket: Socket): string {
  const scheme = https || isEncrypted(socket) ? 'https' : 'http';
  if (host && /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/.test(host)) return `${scheme}://${host}`;
  const address = socket.localAddress ?? 'localhost';
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort ?? 0}`;
}
