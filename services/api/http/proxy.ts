import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';

/** A range of addresses: its first address and the length of its prefix. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Proxies named in one `X-Forwarded-For` that are looked at. */
const hopsMax = 32;
/** Characters of the longest address, with brackets and a port. */
const hopLengthMax = 64;

export const isEncrypted = (socket: object): boolean => (socket as Partial<TLSSocket>).encrypted === true;

/**
 * Whether the client spoke HTTPS: to us, or to a trusted proxy that says so. Of several values the last one
 * counts, since that is the one which the trusted proxy itself has added.
 */
export function isHttps(trustedProxies: AddressRange[], { socket, headers }: IncomingMessage): boolean {
  if (isEncrypted(socket)) return true;
  const said = lastOf(String(headers['x-forwarded-proto'] ?? ''));
  return said.toLowerCase() === 'https' && isTrustedPeer(trustedProxies, socket);
}

/** What is trusted stays so for as long as its connection. */
const trustedPeers = new WeakMap<Socket, boolean>();

export function isTrustedPeer(trustedProxies: AddressRange[], socket: Socket): boolean {
  const known = trustedPeers.get(socket);
  if (known !== undefined) return known;
  const trusted = isTrusted(trustedProxies, socket.remoteAddress);
  trustedPeers.set(socket, trusted);
  return trusted;
}

function isTrusted(ranges: AddressRange[], address: string | undefined): boolean {
  if (!address || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([first, bits]) => first.kind() === parsed.kind() && parsed.match(first, bits));
}

/**
 * Whose request it is: the peer, or what trusted proxies say of it. They append to `X-Forwarded-For` whom they
 * heard, so the last address there that is no trusted proxy is the client; what stands before it is hearsay,
 * and is not read.
 */
export function clientAddress(trustedProxies: AddressRange[], { socket, headers }: IncomingMessage): string {
  let address = socket.remoteAddress ?? '';
  let forwarded = String(headers['x-forwarded-for'] ?? '');
  for (let hops = 0; hops < hopsMax && isTrusted(trustedProxies, address); hops += 1) {
    const hop = bareAddress(lastOf(forwarded));
    if (!ipaddr.isValid(hop)) break;
    address = hop;
    forwarded = forwarded.slice(0, Math.max(0, forwarded.lastIndexOf(',')));
  }
  return networkOf(address);
}

/** An address as limits count it. An IPv6 client is its /64, as one host commands that many addresses. */
export function networkOf(address: string | undefined): string {
  if (!address || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`
    : parsed.toString();
}

/** The last of the values in a header, separated by commas. */
const lastOf = (values: string): string => values.slice(values.lastIndexOf(',') + 1).trim();

/** Some proxies add the port. */
function bareAddress(hop: string): string {
  if (hop.length > hopLengthMax) return '';
  const [, bracketed, dotted] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop) ?? [];
  return bracketed ?? dotted ?? hop;
}
