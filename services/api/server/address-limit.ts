import type { Socket } from 'node:net';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { isTrustedPeer, networkOf } from '../http/proxy.ts';

/**
 * Counts a connection of the socket's client address until `release`. Returns null if the address is at its limit.
 */
export type AddressLimit = (socket: Socket) => { release: () => void } | null;

type Options = { trustedProxies: AddressRange[]; max: number };

/** Limits each client address, so that one leaves room for the others. Trusted proxies are exempt. */
export function createAddressLimit({ trustedProxies, max }: Options): AddressLimit {
  const counts = new Map<string, number>();
  return (socket) => {
    if (isTrustedPeer(trustedProxies, socket)) return { release: () => undefined };
    const address = networkOf(socket.remoteAddress);
    const count = counts.get(address) ?? 0;
    if (count >= max) return null;
    counts.set(address, count + 1);
    return {
      release: () => {
        const remaining = (counts.get(address) ?? 0) - 1;
        if (remaining > 0) counts.set(address, remaining);
        else counts.delete(address);
      },
    };
  };
}
