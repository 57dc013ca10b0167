/** Set by `npm run test:long`: randomized tests then run at the size that CI holds them to. */
const isLong = process.env.TEST_LONG === '1';

/** How much of a randomized test to run: `short` with `npm test`, `long` with `npm run test:long`. */
export const size = (short: number, long: number): number => (isLong ? long : short);
