import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { clientAddress } from './proxy.ts';

const trusted = [ipaddr.parseCIDR('10.0.0.0/8'), ipaddr.parseCIDR('fd00::/8')];

/** From the farthest to the nearest one. */
const proxies = Array.from({ length: 99 }, (_, index) => `,10.0.1.${99 - index}`).join('');

const request = (remoteAddress: string, forwarded: string | undefined) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the address of a client', () => {
  it.each([
    ['the peer', '192.0.2.1', undefined, '192.0.2.1'],
    ['the peer, whatever it says, if it is no trusted proxy', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['whom a trusted proxy names', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['the nearest one beyond the proxies', '10.0.0.1', '203.0.113.1, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['the farthest trusted proxy where all are', '10.0.0.1', '10.0.0.30,10.0.0.2', '10.0.0.30'],
    ['the trusted proxy that passes on nonsense', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['without the port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['without brackets', 'fd00::1', '[2001:db8:1:2:3::4]:4711', '2001:db8:1:2::/64'],
    ['the network of an IPv6 host', '10.0.0.1', '2001:db8:1:2:3::1', '2001:db8:1:2::/64'],
    ['at most the 32nd trusted proxy', '10.0.0.1', `198.51.100.1${proxies}`, '10.0.1.32'],
    ['the proxy that forwards an overlong one', '10.0.0.1', `${'0'.repeat(99)}1.51.100.1`, '10.0.0.1'],
    ['the IPv4 in an IPv6', '::ffff:10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
  ])('is %s', (_, peer, forwarded, expected) => {
    expect(clientAddress(trusted, request(peer, forwarded))).toBe(expected);
  });
});
