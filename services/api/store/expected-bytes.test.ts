import { createExpectedBytes } from './expected-bytes.ts';
import { documentBytes, replyBytesMax } from './read-budget.ts';

const kilobyte = 1_024;
const megabyte = 1_024 * kilobyte;

describe('the estimated size of a read', () => {
  let nowMs = 0;
  const create = () => {
    nowMs = 0;
    return createExpectedBytes(() => nowMs);
  };
  const page = { kind: 'ticket', items: 21 } as const;

  it('is the maximum for an organization without recent reads', () => {
    const expected = create();
    expect(expected.estimate('org_a', page)).toBe(replyBytesMax);
    expect(expected.estimate('org_a', { kind: 'ticket', items: 1 })).toBe(documentBytes);
  });

  it('is small if recent documents were small', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 20, replyBytes: 40 * kilobyte });
    expect(expected.estimate('org_a', page)).toBe(256 * kilobyte);
    // Other kinds and other organizations are unaffected.
    expect(expected.estimate('org_a', { ...page, kind: 'message' })).toBe(replyBytesMax);
    expect(expected.estimate('org_b', page)).toBe(replyBytesMax);
  });

  it('grows with the number of items, up to the maximum of a reply', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * megabyte });
    expect(expected.estimate('org_a', { ...page, items: 1 })).toBe(0.5 * megabyte);
    expect(expected.estimate('org_a', page)).toBe(10.5 * megabyte);
    expect(expected.estimate('org_a', { ...page, items: 101 })).toBe(replyBytesMax);
  });

  it('follows the largest recent document, whose weight halves every 30 s', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * megabyte });
    expected.record('org_a', 'ticket', { replyItems: 20, replyBytes: kilobyte });
    expected.record('org_a', 'ticket', { replyItems: 0, replyBytes: 0 });
    expect(expected.estimate('org_a', page)).toBe(10.5 * megabyte);
    nowMs += 30_000;
    expect(expected.estimate('org_a', page)).toBe(5.25 * megabyte);
  });

  // The budget adds and subtracts estimates: sums of fractions would not come back to zero.
  it('is a whole number of bytes', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 3, replyBytes: megabyte });
    nowMs += 1_000;
    expect(expected.estimate('org_a', page) % 1).toBe(0);
  });
});
