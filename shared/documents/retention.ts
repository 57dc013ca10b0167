export const dayMs = 86_400_000;
/** The last instant that a `Date` can hold. */
const lastMs = 8_640_000_000_000_000;

/**
 * The instant at which data expires: `from` plus the `dataRetentionDays` of its channel. `from` is a conversation's
 * `updatedAt` or a message's `createdAt`. Null if the data never expires: with 0 or null days.
 */
export function retainUntil(from: Date, dataRetentionDays: number | null): Date | null {
  const ms = from.getTime() + (dataRetentionDays ?? 0) * dayMs;
  return dataRetentionDays && ms <= lastMs ? new Date(ms) : null;
}

/** Whether the data has expired at `now`. Expired data must not be shown. */
export const isExpired = (until: Date | null | undefined, now: Date): boolean =>
  until !== null && until !== undefined && until <= now;

/** The latest `from` whose data has expired at `now`; null if nothing expires. See `retainUntil`. */
export function expiredUpTo(dataRetentionDays: number | null, now: Date): Date | null {
  const ms = now.getTime() - (dataRetentionDays ?? 0) * dayMs;
  return dataRetentionDays && ms >= -lastMs ? new Date(ms) : null;
}
