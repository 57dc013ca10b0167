import type { Generation } from '../../../shared/control/generations.ts';
import type { TopicSettings } from '../../../shared/kafka/topic-settings.ts';
import { counted } from '../../../shared/runtime/counted.ts';

/** The topic that keeps tombstones for the shortest time, and its `delete.retention.ms`. */
type TombstoneBound = { topic: string; keptMs: number };

/** The bound of these topics; null if the brokers do not return the setting. */
export function tombstoneBound(settings: TopicSettings[]): TombstoneBound | null {
  let bound: TombstoneBound | null = null;
  for (const { topic, deleteRetentionMs: keptMs } of settings) {
    if (keptMs !== null && (bound === null || keptMs < bound.keptMs)) bound = { topic, keptMs };
  }
  return bound;
}

/** The factor by which a lag must grow before it is recorded again. */
const lagGrowthFactor = 1.1;

/** The shortest lag that is recorded, in seconds. Kafka keeps tombstones for much longer. */
const recordedLagMinSeconds = 60;

/**
 * Returns the longest lag to record, in seconds: the current lag, or the recorded one until the lag has grown by a
 * step. A lag of days then costs few writes.
 */
export const lagToRecord = (seconds: number, recorded: number): number =>
  seconds >= Math.max(recordedLagMinSeconds, recorded * lagGrowthFactor) ? seconds : recorded;

/**
 * Returns a warning if a lag of the generation was ever longer than Kafka keeps tombstones; null otherwise. Such a
 * generation may have missed tombstones, so it may contain erased entities. The current lag counts as well, because
 * no projector records it while none runs. The longest lag may exceed the recorded one by `lagGrowthFactor`.
 */
export function tombstoneWarning(
  generation: Generation,
  watermark: Date | null,
  bound: TombstoneBound | null,
  now: Date,
): string | null {
  const { number, startedAt = now, longestBehindSeconds = 0 } = generation;
  // The lag of a build begins with its start. The build loads older records, but misses no tombstone because of that.
  // A projector that still waits for brokers or topics has read no entity, so it misses no deletion.
  const currentMs = now.getTime() - Math.max(startedAt.getTime(), watermark?.getTime() ?? 0);
  const recordedMs = longestBehindSeconds * 1_000;
  if (!bound || Math.max(currentMs, recordedMs * lagGrowthFactor) < bound.keptMs) return null;
  const hours = (ms: number) => counted(Number((ms / 3_600_000).toFixed(2)), 'hour');
  return (
    `generation ${number} had a lag of ${hours(Math.max(currentMs, recordedMs))}, but ${bound.topic} drops tombstones after ${hours(bound.keptMs)}: ` +
    'it may hold erased entities'
  );
}
