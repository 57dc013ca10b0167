// The matchers of jest have the type `any`, which the lint rules refuse in an expected value.

/** Matches a text in which the pattern is found. */
export const matching = (pattern: RegExp | string): string => expect.stringMatching(pattern) as string;

/** Matches a text that contains this part. */
export const containing = (part: string): string => expect.stringContaining(part) as string;
