import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRanges } from '../../../shared/runtime/addresses.ts';

/** How many addresses of one `X-Forwarded-For` the API reads at most. */
const hopsMax = 32;
/** The longest address that the API reads, in characters, including brackets and a port. */
const hopLengthMax = 64;

export const isEncrypted = (socket: object): boolean => (socket as Partial<TLSSocket>).encrypted === true;

/**
 * Whether the client used HTTPS, to the API or to a trusted proxy that reports it. Reads only the last of
 * several values, because the trusted proxy added it, and the client may have sent the others.
 */
export function isHttps(trustedProxies: AddressRange[], { socket, headers }: IncomingMessage): boolean {
  if (isEncrypted(socket)) return true;
  const protocol = lastOf(String(headers['x-forwarded-proto'] ?? ''));
  return protocol.toLowerCase() === 'https' && isTrustedPeer(trustedProxies, socket);
}

/** Cached per connection, because the peer of a connection does not change. */
const trustedPeers = new WeakMap<Socket, boolean>();

export function isTrustedPeer(trustedProxies: AddressRange[], socket: Socket): boolean {
  const cached = trustedPeers.get(socket);
  if (cached !== undefined) return cached;
  const trusted = isInRanges(trustedProxies, socket.remoteAddress);
  trustedPeers.set(socket, trusted);
  return trusted;
}

/**
 * The client's address: the peer, or the address that trusted proxies report. Each proxy appends its own peer to
 * `X-Forwarded-For`, so the client is the last address there that is not a trusted proxy. Earlier addresses could be
 * forged, and are not read.
 */
export function clientAddress(trustedProxies: AddressRange[], { socket, headers }: IncomingMessage): string {
  let address = socket.remoteAddress ?? '';
  let forwarded = String(headers['x-forwarded-for'] ?? '');
  for (let hops = 0; hops < hopsMax && isInRanges(trustedProxies, address); hops += 1) {
    const hop = addressIn(lastOf(forwarded));
    if (hop === null) break;
    address = hop;
    forwarded = forwarded.slice(0, Math.max(0, forwarded.lastIndexOf(',')));
  }
  return networkOf(address);
}

/**
 * The address by which limits count a client. IPv6 clients count by their /64, because one host controls a whole /64.
 */
export function networkOf(address: string | undefined): string {
  if (!address || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`
    : parsed.toString();
}

/** The last of the comma-separated values in a header. */
const lastOf = (values: string): string => values.slice(values.lastIndexOf(',') + 1).trim();

/** The address of a hop, without the port that some proxies add; null if it has no valid address. */
function addressIn(hop: string): string | null {
  if (hop.length > hopLengthMax) return null;
  // `[2001:db8::1]` or `[2001:db8::1]:443`, and `192.0.2.1:443`.
  const [, bracketed, dotted] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop) ?? [];
  const address = bracketed ?? dotted ?? hop;
  return ipaddr.isValid(address) ? address : null;
}
