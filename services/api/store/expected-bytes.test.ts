import { mebibyte } from '../../../tests/support/memory.ts';
import { createExpectedBytes } from './expected-bytes.ts';
import { documentBytes, replyBytesMax } from './read-budget.ts';

const kibibyte = 1_024;

describe('the estimated size of a read', () => {
  let nowMs = 0;
  const create = () => {
    nowMs = 0;
    return createExpectedBytes(() => nowMs);
  };
  const page = { kind: 'ticket', items: 21 } as const;

  test('is the maximum for an organization without recent reads', () => {
    const expected = create();
    expect(expected.estimate('org_a', page)).toBe(replyBytesMax);
    expect(expected.estimate('org_a', { kind: 'ticket', items: 1 })).toBe(documentBytes);
  });

  test('is small if recent documents were small', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 20, replyBytes: 40 * kibibyte });
    expect(expected.estimate('org_a', page)).toBe(256 * kibibyte);
    // Other kinds and other organizations are unaffected.
    expect(expected.estimate('org_a', { ...page, kind: 'message' })).toBe(replyBytesMax);
    expect(expected.estimate('org_b', page)).toBe(replyBytesMax);
  });

  test('grows with the number of items, up to the maximum of a reply', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * mebibyte });
    expect(expected.estimate('org_a', { ...page, items: 1 })).toBe(0.5 * mebibyte);
    expect(expected.estimate('org_a', page)).toBe(10.5 * mebibyte);
    expect(expected.estimate('org_a', { ...page, items: 101 })).toBe(replyBytesMax);
  });

  test('follows the largest recent document, whose weight halves every 30 s', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * mebibyte });
    expected.record('org_a', 'ticket', { replyItems: 20, replyBytes: kibibyte });
    expected.record('org_a', 'ticket', { replyItems: 0, replyBytes: 0 });
    expect(expected.estimate('org_a', page)).toBe(10.5 * mebibyte);
    nowMs += 30_000;
    expect(expected.estimate('org_a', page)).toBe(5.25 * mebibyte);
  });

  // The budget adds and subtracts estimates: sums of fractions would not come back to zero.
  test('is a whole number of bytes', () => {
    const expected = create();
    expected.record('org_a', 'ticket', { replyItems: 3, replyBytes: mebibyte });
    nowMs += 1_000;
    expect(expected.estimate('org_a', page) % 1).toBe(0);
  });
});
