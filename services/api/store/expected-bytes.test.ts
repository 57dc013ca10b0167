import { createExpectedBytes } from './expected-bytes.ts';
import { documentBytes, replyBytesMax } from './read-budget.ts';

const kilobyte = 1_024;
const megabyte = 1_024 * kilobyte;

describe('what a read is expected to bring', () => {
  let nowMs = 0;
  const given = () => {
    nowMs = 0;
    return createExpectedBytes(() => nowMs);
  };
  const page = { kind: 'ticket', items: 21 } as const;

  it('is the most that it can for an organization that was not met before', () => {
    const expected = given();
    expect(expected.of('org_a', page)).toBe(replyBytesMax);
    expect(expected.of('org_a', { kind: 'ticket', items: 1 })).toBe(documentBytes);
  });

  it('is little where its documents have been small', () => {
    const expected = given();
    expected.saw('org_a', 'ticket', { replyItems: 20, replyBytes: 40 * kilobyte });
    expect(expected.of('org_a', page)).toBe(256 * kilobyte);
    // and nothing is known of other kinds, or others' documents
    expect(expected.of('org_a', { ...page, kind: 'message' })).toBe(replyBytesMax);
    expect(expected.of('org_b', page)).toBe(replyBytesMax);
  });

  it('grows with the items asked for, up to what a reply can hold', () => {
    const expected = given();
    expected.saw('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * megabyte });
    expect(expected.of('org_a', { ...page, items: 1 })).toBe(0.5 * megabyte);
    expect(expected.of('org_a', page)).toBe(10.5 * megabyte);
    expect(expected.of('org_a', { ...page, items: 101 })).toBe(replyBytesMax);
  });

  it('remembers the largest, and forgets half of it every half minute', () => {
    const expected = given();
    expected.saw('org_a', 'ticket', { replyItems: 1, replyBytes: 0.25 * megabyte });
    expected.saw('org_a', 'ticket', { replyItems: 20, replyBytes: kilobyte });
    expected.saw('org_a', 'ticket', { replyItems: 0, replyBytes: 0 });
    expect(expected.of('org_a', page)).toBe(10.5 * megabyte);
    nowMs += 30_000;
    expect(expected.of('org_a', page)).toBe(5.25 * megabyte);
  });
});
