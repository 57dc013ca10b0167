import { preview } from './preview.ts';

describe('preview', () => {
  test.each([
    ['an empty text', '', ''],
    ['200 characters', 'a'.repeat(200), 'a'.repeat(200)],
    ['201 characters', 'a'.repeat(201), `${'a'.repeat(200)}…`],
    ['200 characters beyond the basic plane', '😀'.repeat(200), '😀'.repeat(200)],
    ['201 of them', '😀'.repeat(201), `${'😀'.repeat(200)}…`],
    ['a surrogate pair on the border', `${'a'.repeat(199)}😀b`, `${'a'.repeat(199)}😀…`],
    ['a joined emoji across the border', `${'a'.repeat(199)}👩‍👩‍👧b`, `${'a'.repeat(199)}…`],
    ['an accent after the border', `${'a'.repeat(199)}e\u0301b`, `${'a'.repeat(199)}…`],
    ['a long grapheme after the first character', `xe${'\u0301'.repeat(300)}`, `xe${'\u0301'.repeat(198)}…`],
    ['one grapheme longer than the limit', `a${'\u0301'.repeat(300)}`, `a${'\u0301'.repeat(199)}…`],
  ])('%s', (_name, text, expected) => {
    expect(preview(text)).toBe(expected);
  });
});
