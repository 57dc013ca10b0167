/** How many characters (code points) of the opening message a conversation shows. */
const previewLengthMax = 200;

/** How many UTF-16 units behind the cut are read to find the end of the grapheme there. */
const lookAhead = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The first 200 characters of a text, with an ellipsis behind them when there are more. The cut moves back to
 * the last whole grapheme, so that what a person sees as one character (a flag, an accented letter) is never
 * split; a single grapheme longer than the limit is cut between code points.
 */
export function preview(content: string): string {
  // 200 code points are at most 400 UTF-16 units; one more code point tells whether there are more.
  const head = [...content.slice(0, 2 * previewLengthMax + 2)];
  if (head.length <= previewLengthMax) return content;
  const window = head.slice(0, previewLengthMax).join('');
  const boundary = graphemes.segment(content.slice(0, window.length + lookAhead)).containing(window.length);
  const cut = boundary && boundary.index > 0 ? boundary.index : window.length;
  return `${content.slice(0, cut)}…`;
}
