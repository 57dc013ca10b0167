/** Length of the preview of the opening message, in characters (code points). */
const previewLengthMax = 200;

/** The longest grapheme that is not cut, in UTF-16 units. */
const graphemeLengthMax = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The first 200 characters of a text, followed by an ellipsis if the text is longer. The preview ends with a whole
 * grapheme, because a flag or an accented letter must not be split. Only a grapheme of more than 64 UTF-16 units is
 * cut, between code points.
 */
export function preview(content: string): string {
  // 200 code points are at most 400 UTF-16 units; one more code point shows whether the text is longer.
  const head = [...content.slice(0, 2 * previewLengthMax + 2)];
  if (head.length <= previewLengthMax) return content;
  const window = head.slice(0, previewLengthMax).join('');
  const across = graphemes
    .segment(content.slice(0, window.length + graphemeLengthMax))
    .containing(window.length);
  const cut = across && across.segment.length <= graphemeLengthMax ? across.index : window.length;
  return `${content.slice(0, cut)}…`;
}
