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
    { name: 'the peer', peer: '192.0.2.1', forwarded: undefined, expected: '192.0.2.1' },
    {
      name: 'the peer, whatever it sends, if it is no trusted proxy',
      peer: '192.0.2.1',
      forwarded: '198.51.100.1',
      expected: '192.0.2.1',
    },
    {
      name: 'whom a trusted proxy names',
      peer: '10.0.0.1',
      forwarded: '198.51.100.1',
      expected: '198.51.100.1',
    },
    {
      name: 'the nearest one beyond the proxies',
      peer: '10.0.0.1',
      forwarded: '203.0.113.1, 198.51.100.1, 10.0.0.2',
      expected: '198.51.100.1',
    },
    {
      name: 'the farthest trusted proxy where all are',
      peer: '10.0.0.1',
      forwarded: '10.0.0.30,10.0.0.2',
      expected: '10.0.0.30',
    },
    {
      name: 'the trusted proxy that passes on nonsense',
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
      name: 'the network of an IPv6 host',
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
      name: 'the proxy that forwards an overlong one',
      peer: '10.0.0.1',
      forwarded: `${'0'.repeat(99)}1.51.100.1`,
      expected: '10.0.0.1',
    },
    {
      name: 'the IPv4 in an IPv6',
      peer: '::ffff:10.0.0.1',
      forwarded: '::ffff:198.51.100.1',
      expected: '198.51.100.1',
    },
  ])('is $name', ({ peer, forwarded, expected }) => {
    expect(clientAddress(trusted, request(peer, forwarded))).toBe(expected);
  });
});
