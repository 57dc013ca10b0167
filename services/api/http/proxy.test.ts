import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { clientAddress } from './proxy.ts';

const trusted = [ipaddr.parseCIDR('10.0.0.0/8'), ipaddr.parseCIDR('fd00::/8')];

/** The addresses of 99 proxies, as in the header: from the farthest to the nearest. */
const proxies = Array.from({ length: 99 }, (_, index) => `,10.0.1.${99 - index}`).join('');

const request = (remoteAddress: string, forwarded: string | undefined) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the address of a client', () => {
  test.each([
    { name: 'the peer', peer: '192.0.2.1', forwarded: undefined, expected: '192.0.2.1' },
    {
      name: 'the peer, despite its headers, if it is not a trusted proxy',
      peer: '192.0.2.1',
      forwarded: '198.51.100.1',
      expected: '192.0.2.1',
    },
    {
      name: 'the address that a trusted proxy reports',
      peer: '10.0.0.1',
      forwarded: '198.51.100.1',
      expected: '198.51.100.1',
    },
    {
      name: 'the nearest address beyond the trusted proxies',
      peer: '10.0.0.1',
      forwarded: '203.0.113.1, 198.51.100.1, 10.0.0.2',
      expected: '198.51.100.1',
    },
    {
      name: 'the farthest trusted proxy, if all addresses are trusted',
      peer: '10.0.0.1',
      forwarded: '10.0.0.30,10.0.0.2',
      expected: '10.0.0.30',
    },
    {
      name: 'the trusted proxy that reports no valid address',
      peer: '10.0.0.1',
      forwarded: '198.51.100.1, unknown',
      expected: '10.0.0.1',
    },
    { name: 'without the port', peer: '10.0.0.1', forwarded: '198.51.100.1:4711', expected: '198.51.100.1' },
    {
      name: 'without brackets',
      peer: 'fd00::1',
      forwarded: '[2001:db8:1:2:3::4]:4711',
      expected: '2001:db8:1:2::/64',
    },
    {
      name: 'the /64 network of an IPv6 address',
      peer: '10.0.0.1',
      forwarded: '2001:db8:1:2:3::1',
      expected: '2001:db8:1:2::/64',
    },
    {
      name: 'at most the 32nd trusted proxy',
      peer: '10.0.0.1',
      forwarded: `198.51.100.1${proxies}`,
      expected: '10.0.1.32',
    },
    {
      name: 'the trusted proxy that reports an overlong address',
      peer: '10.0.0.1',
      forwarded: `${'0'.repeat(99)}1.51.100.1`,
      expected: '10.0.0.1',
    },
    {
      name: 'the IPv4 address inside an IPv6 address',
      peer: '::ffff:10.0.0.1',
      forwarded: '::ffff:198.51.100.1',
      expected: '198.51.100.1',
    },
  ])('is $name', ({ peer, forwarded, expected }) => {
    expect(clientAddress(trusted, request(peer, forwarded))).toBe(expected);
  });
});
