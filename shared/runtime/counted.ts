const numbers = new Intl.NumberFormat('en');

/** A whole number with thousands separators. */
export const digits = (value: number): string => numbers.format(Math.round(value));

/** ` or more` if a count has reached the limit at which the counting stops; else nothing. */
export const orMore = (count: number, max: number): string => (count >= max ? ' or more' : '');

/** A number with its noun: `1 record`, `1,690 records`. The plural of `noun` ends in s. */
export const counted = (count: number, noun: string): string =>
  `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`;
