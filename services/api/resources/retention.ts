/** Decides what has expired. A request reads the clock once, so that one response reflects one instant. */
export type Clock = { now: () => Date };
