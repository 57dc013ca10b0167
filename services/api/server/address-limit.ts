import type { Socket } from 'node:net';
import { isTrustedPeer, networkOf, type AddressRange } from '../http/proxy.ts';

/** Counts what hangs on the address of a socket until `release`; null where the address is at its bound. */
export type AddressLimit = (socket: Socket) => { release: () => void } | null;

/** Bounds what one client address may hold, so that it leaves the others room. Proxies speak for many clients. */
export function createAddressLimit({
  trustedProxies,
  max,
}: {
  trustedProxies: AddressRange[];
  max: number;
}): AddressLimit {
  const held = new Map<string, number>();
  return (socket) => {
    if (isTrustedPeer(trustedProxies, socket)) return { release: () => undefined };
    const address = networkOf(socket.remoteAddress);
    const count = held.get(address) ?? 0;
    if (count >= max) return null;
    held.set(address, count + 1);
    return {
      release: () => {
        const left = (held.get(address) ?? 0) - 1;
        if (left > 0) held.set(address, left);
        else held.delete(address);
      },
    };
  };
}
