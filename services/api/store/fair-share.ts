/**
 * Returns the part of a limit that one organization may use: a quarter of the limit, and once half of it is in use a
 * quarter of the rest. An organization that uses nothing may always start. So the next organization has room, however
 * many others hold their shares.
 */
export const fairShare = (limit: number, used: number): number =>
  (used < limit / 2 ? limit : limit - used) / 4;
