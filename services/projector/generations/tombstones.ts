import type { Generation } from '../../../shared/control/generations.ts';
import type { TopicSettings } from '../../../shared/kafka/topic-settings.ts';
import { counted } from '../../../shared/runtime/counted.ts';

/** The topic that keeps tombstones for the shortest time, and that time (`delete.retention.ms`). */
type TombstoneBound = { topic: string; keptMs: number };

/** The bound of these topics; null if the brokers do not return the setting. */
export const tombstoneBound = (settings: TopicSettings[]): TombstoneBound | null =>
  settings
    .flatMap(({ topic, deleteRetentionMs: keptMs }) => (keptMs === null ? [] : [{ topic, keptMs }]))
    .toSorted((a, b) => a.keptMs - b.keptMs)[0] ?? null;

/**
 * When the lag of a generation begins. Null before its start: a projector that still waits for brokers or topics has
 * read no entity, so it misses no deletion. A generation of an earlier release has a watermark, but no start.
 */
export const lagStart = ({ startedAt, registeredAt }: Generation, watermark: Date | null): Date | null =>
  startedAt ?? (watermark && registeredAt);

/** A lag is recorded again once it has grown by this factor. */
const recordedStep = 1.1;

/** A lag of this many seconds can matter to tombstones. */
const recordedFromSeconds = 60;

/** Returns the longest lag to record, in seconds. It rises in steps, so that a lag of days costs few writes. */
export const longestLag = (seconds: number, recorded: number): number =>
  seconds >= Math.max(recordedFromSeconds, recorded * recordedStep) ? seconds : recorded;

/**
 * Warns if the lag of a generation was ever longer than Kafka keeps tombstones, because it may then hold erased
 * entities; null if it was not. The present lag counts too, because nothing records the lag of a stopped generation.
 * The longest lag may exceed the recorded one by the step.
 */
export function tombstoneWarning(
  generation: Generation,
  watermark: Date | null,
  bound: TombstoneBound | null,
  now: Date,
): string | null {
  const { number, longestBehindSeconds = 0 } = generation;
  // A build loads records from before its start. Their age does not count as lag, because the build misses no
  // tombstone.
  const from = lagStart(generation, watermark) ?? now;
  const presentMs = now.getTime() - Math.max(from.getTime(), watermark?.getTime() ?? 0);
  const longestMs = longestBehindSeconds * 1_000;
  if (!bound || Math.max(presentMs, longestMs * recordedStep) < bound.keptMs) return null;
  const hours = (ms: number) => counted(Number((ms / 3_600_000).toFixed(2)), 'hour');
  return (
    `generation ${number} had a lag of ${hours(Math.max(presentMs, longestMs))}, but ${bound.topic} drops tombstones after ${hours(bound.keptMs)}: ` +
    'it may hold erased entities'
  );
}
