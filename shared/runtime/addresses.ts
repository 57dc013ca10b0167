import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** A range of addresses in CIDR form: an address, and the number of leading bits that all its addresses share. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** A setting that lists addresses or CIDR ranges, separated by commas. */
export const addressRanges = z.string().transform((value, context): AddressRange[] => {
  const texts = value.split(',').map((text) => text.trim());
  const ranges = texts.map(parseRange);
  const parsed = ranges.filter((range) => range !== null);
  if (parsed.length === texts.length) return parsed;
  context.addIssue({ code: 'custom', message: 'must be addresses or CIDR ranges, separated by commas' });
  return z.NEVER;
});

function parseRange(text: string): AddressRange | null {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) return null;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Whether an address is in one of the ranges; false if it is absent or malformed. */
export function isInRanges(ranges: AddressRange[], address: string | undefined): boolean {
  if (!address || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([first, bits]) => first.kind() === parsed.kind() && parsed.match(first, bits));
}
