import { dayMs } from '../../shared/documents/instant.ts';
import { type Population, randomHistory } from '../convergence/history.ts';
import type { Event } from '../support/events.ts';

/** The first records are published on this day, in milliseconds. */
export const firstDay = Date.UTC(2026, 0, 1);
/**
 * The later records are published after the retention and the tombstone documents of the first records have expired.
 */
export const lateDay = firstDay + 100 * dayMs;
/** The last sweep, after `tombstoneDays` but before the retention of late data. */
export const sweepDay = lateDay + 40 * dayMs;

/** Whether the conversations of a channel expire, after 90 days. */
export const expires = (channelId: string): boolean => channelId.endsWith('_0');

/**
 * A history with a gap of 100 days in its middle. Each record names the organization of the first record of its entity,
 * so the result does not depend on the order of partitions. No record from before the gap comes again after it.
 */
export function longHistory(seed: number, length: number, population: Population): Event[] {
  const history = randomHistory(seed, length, { population });
  const owners = new Map<string, string>();
  for (const { id, orgId } of history) {
    if (!owners.has(id)) owners.set(id, orgId);
  }
  const early = history.slice(0, length / 2);
  return history.flatMap((event, index) => {
    if (owners.get(event.id) !== event.orgId) return [];
    if (index < early.length) return [retained(event)];
    return early.includes(event) ? [] : [retained(postponed(event))];
  });
}

const retained = (event: Event): Event =>
  event.kind === 'channel' && event.data
    ? { ...event, data: { ...event.data, dataRetentionDays: expires(event.id) ? 90 : null } }
    : event;

function postponed(event: Event): Event {
  const shift = (instant: unknown) =>
    new Date(Date.parse(String(instant)) + lateDay - firstDay).toISOString();
  const { data, time } = event;
  const times = ['createdAt', 'updatedAt'].filter((name) => data && name in data);
  const shifted = Object.fromEntries(times.map((name) => [name, shift(data?.[name])]));
  const late = new Date(time.getTime() + lateDay - firstDay);
  return { ...event, time: late, ...(data && { data: { ...data, ...shifted } }) };
}
