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
  const ofOwner = ({ id, orgId }: Event) => owners.get(id) === orgId;
  const early = history.slice(0, length / 2);
  // The history may append an event of its first half again in its second half.
  const late = history.slice(length / 2).filter((event) => !early.includes(event));
  return [...early.filter(ofOwner), ...late.filter(ofOwner).map(postponed)].map(retained);
}

function retained(event: Event): Event {
  if (event.kind !== 'channel' || !event.data) return event;
  const dataRetentionDays = expires(event.id) ? 90 : null;
  return { ...event, data: { ...event.data, dataRetentionDays } };
}

function postponed(event: Event): Event {
  const postpone = (instant: Date) => new Date(instant.getTime() + lateDay - firstDay);
  const late = { ...event, time: postpone(event.time) };
  if (!event.data) return late;
  const data = { ...event.data };
  for (const name of ['createdAt', 'updatedAt']) {
    if (name in data) data[name] = postpone(new Date(String(data[name]))).toISOString();
  }
  return { ...late, data };
}
