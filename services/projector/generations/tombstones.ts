import type { Admin } from 'kafkajs';
import type { Generation } from '../../../shared/store/generations.ts';
import { readTopicSettings, type TopicSettings } from '../kafka/topic-settings.ts';

/** The topic that drops tombstones first, and after how long (`delete.retention.ms`). */
export type TombstoneBound = { topic: string; keptMs: number };

/** The bound that topics set; null if the brokers return none. */
export const tombstoneBound = (settings: TopicSettings[]): TombstoneBound | null =>
  settings.reduce<TombstoneBound | null>(
    (shortest, { topic, deleteRetentionMs: keptMs }) =>
      keptMs === null || (shortest && shortest.keptMs <= keptMs) ? shortest : { topic, keptMs },
    null,
  );

export const readTombstoneBound = async (admin: Admin, topics: string[]): Promise<TombstoneBound | null> =>
  tombstoneBound(await readTopicSettings(admin, topics));

/** A lag is recorded again when it has grown by this factor. */
export const recordedStep = 1.1;

/**
 * Says that a generation was further behind the log than Kafka keeps tombstones, so that it may hold entities that were
 * erased; null if it was not. Its present lag counts too: of a stopped generation, nothing else tells it. The recorded
 * lag may have grown by the step that is not recorded.
 */
export function tombstoneWarning(
  { number, registeredAt, longestBehindSeconds = 0 }: Generation,
  watermark: Date | null,
  bound: TombstoneBound | null,
  now: Date,
): string | null {
  // A build loads records that are older than itself at first, and misses no tombstone by that.
  const presentMs = now.getTime() - Math.max(registeredAt.getTime(), watermark?.getTime() ?? 0);
  const longestMs = longestBehindSeconds * 1_000;
  if (!bound || Math.max(presentMs, longestMs * recordedStep) < bound.keptMs) return null;
  const hours = (ms: number) => `${Number((ms / 3_600_000).toFixed(2))} hours`;
  return (
    `generation ${number} was ${hours(Math.max(presentMs, longestMs))} behind, but ${bound.topic} drops tombstones after ${hours(bound.keptMs)}: ` +
    'it may hold entities that were erased'
  );
}
