/** A number with its noun: `1 record`, `2 records`. The plural of `noun` ends in s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
