/** Tells what has expired. A request asks it once, so that one answer shows one instant. */
export type Clock = { now: () => Date };
