/** Length of the preview of the opening message, in characters (code points). */
const previewLengthMax = 200;

/** The longest grapheme that is not cut, in UTF-16 units. */
const graphemeLengthMax = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The first 200 characters of a text, followed by an ellipsis if the text is longer. The preview ends with a whole
 * grapheme, because a flag or an accented letter must not be split. Only a grapheme of more than 64 UTF-16 units, such
 * as a letter with a hundred accents, is cut between code points.
 */
export function preview(content: string): string {
  // 200 code points are at most 400 UTF-16 units; one more code point shows whether the text is longer.
  const codePoints = [...content.slice(0, 2 * previewLengthMax + 2)];
  if (codePoints.length <= previewLengthMax) return content;
  const limit = codePoints.slice(0, previewLengthMax).join('').length;
  const graphemeAtLimit = graphemes.segment(content.slice(0, limit + graphemeLengthMax)).containing(limit);
  const isWhole = graphemeAtLimit && graphemeAtLimit.segment.length <= graphemeLengthMax;
  const end = isWhole ? graphemeAtLimit.index : limit;
  return `${content.slice(0, end)}…`;
}
