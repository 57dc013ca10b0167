const numbers = new Intl.NumberFormat('en');

/** A whole number with thousands separators. */
export const digits = (value: number): string => numbers.format(Math.round(value));

/** ` or more` if a count has reached the limit at which the counting stops; else nothing. */
export const orMore = (count: number, max: number): string => (count >= max ? ' or more' : '');

/** ` (and 2 further partitions)` behind the name of a first one; nothing if it is the only one. */
export const andFurther = (count: number, noun: string): string =>
  count === 0 ? '' : ` (and ${counted(count, `further ${noun}`)})`;

/** A number with its noun: `1 record`, `1,690 records`. The plural of `noun` ends in s. */
export const counted = (count: number, noun: string): string =>
  `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`;
