export const dayMs = 86_400_000;
/** The last instant that a date can hold. */
const lastMs = 8_640_000_000_000_000;

/**
 * The instant up to which a conversation is kept: `dataRetentionDays` of its channel after its own `updatedAt`.
 * Null where it is kept indefinitely, which 0 and null mean. Source: the channel's setting on the bus.
 */
export function keptUntil(updatedAt: Date, dataRetentionDays: number | null): Date | null {
  const ms = updatedAt.getTime() + (dataRetentionDays ?? 0) * dayMs;
  return dataRetentionDays && ms <= lastMs ? new Date(ms) : null;
}

/** Whether what is kept until then is past its retention at `now`: it must not be shown any more. */
export const isLapsed = (until: Date | null | undefined, now: Date): boolean =>
  until !== null && until !== undefined && until <= now;
