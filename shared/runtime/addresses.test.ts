import { addressRanges, isInRanges } from './addresses.ts';

const ranges = addressRanges.parse('10.0.0.2, 192.168.0.0/16, 2001:db8::1, fd00::/8');

test.each([
  ['10.0.0.2', true],
  ['::ffff:10.0.0.2', true],
  ['10.0.0.3', false],
  ['192.168.255.1', true],
  ['192.169.0.1', false],
  ['2001:db8::1', true],
  ['2001:db8::2', false],
  ['fd12::1', true],
  ['no address', false],
  [undefined, false],
])('%s is in the ranges: %s', (address, isIn) => expect(isInRanges(ranges, address)).toBe(isIn));

test.each(['10.0.0.0/33', 'proxy', ''])('%j is not a list of addresses', (text) =>
  expect(addressRanges.safeParse(text).success).toBe(false),
);
