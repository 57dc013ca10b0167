/** Tells which conversations are past their retention. */
export type Clock = { now: () => Date };
