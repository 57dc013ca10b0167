const numbers = new Intl.NumberFormat('en');

/** A whole number with thousands separators. */
export const digits = (value: number): string => numbers.format(Math.round(value));

/** ` or more` after a number that was counted up to `max` and no further; else nothing. */
export const orMore = (count: number, max: number): string => (count >= max ? ' or more' : '');

/** A number with its noun: `1 record`, `1,690 records`. The plural of `noun` ends in s. */
export const counted = (count: number, noun: string): string =>
  `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`;
