import fc from 'fast-check';
import { decodeBase64 } from './bytes.ts';

/** The accepted texts, as an expression: it throws for texts of millions of characters. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const nearBase64 = fc.stringMatching(/^[A+/=\n -]{0,9}$/);

test('only valid base64 is decoded', () => {
  fc.assert(
    fc.property(fc.oneof(nearBase64, fc.base64String(), fc.string()), (text) => {
      expect(decodeBase64(text)?.toString('base64') ?? null).toBe(
        base64.test(text) ? Buffer.from(text, 'base64').toString('base64') : null,
      );
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ['', ''],
  ['=', '='],
  ['==', '=='],
])('a text of 16 million characters of base64 that ends in "%s" is decoded', (_, padding) => {
  const text = 'A'.repeat(16_000_000 - padding.length) + padding;
  expect(decodeBase64(text)?.length).toBe(12_000_000 - padding.length);
  expect(decodeBase64(`${text.slice(0, -3)}*AA`)).toBeNull();
});
