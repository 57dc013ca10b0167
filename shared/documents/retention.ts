export const dayMs = 86_400_000;
/** The last instant that a date can hold. */
const lastMs = 8_640_000_000_000_000;

/**
 * The instant up to which data is served: `dataRetentionDays` of its channel after `from`, which is a
 * conversation's `updatedAt` or a message's `createdAt`. Null where it is kept indefinitely, which 0 and null mean.
 * Source: the channel's setting on the bus.
 */
export function retainUntil(from: Date, dataRetentionDays: number | null): Date | null {
  const ms = from.getTime() + (dataRetentionDays ?? 0) * dayMs;
  return dataRetentionDays && ms <= lastMs ? new Date(ms) : null;
}

/** Whether the retention has passed at `now`: from that instant on, the data must not be shown any more. */
export const isExpired = (until: Date | null | undefined, now: Date): boolean =>
  until !== null && until !== undefined && until <= now;

/** The latest `from` whose retention has passed at `now`; null where nothing expires. See `retainUntil`. */
export function expiredUpTo(dataRetentionDays: number | null, now: Date): Date | null {
  const ms = now.getTime() - (dataRetentionDays ?? 0) * dayMs;
  return dataRetentionDays && ms >= -lastMs ? new Date(ms) : null;
}
