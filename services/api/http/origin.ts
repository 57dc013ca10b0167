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

/** `https://host` as the client addressed it; the socket's own address where it named no usable host. */
export function originOf(https: boolean, host: string | undefined, socket: Socket): string {
  const scheme = https || isEncrypted(socket) ? 'https' : 'http';
  if (host && /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/.test(host)) return `${scheme}://${host}`;
  const address = socket.localAddress ?? 'localhost';
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort ?? 0}`;
}
