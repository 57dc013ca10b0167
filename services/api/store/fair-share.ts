/**
 * The part of a limit that one organization may use: a quarter, and once half of the limit is in use a quarter of the
 * rest. An organization that uses nothing may start in any case. So however many organizations keep what they use, there
 * is room for the next one.
 */
export const fairShare = (limit: number, used: number): number =>
  (used < limit / 2 ? limit : limit - used) / 4;
