import type { Histogram } from 'prom-client';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import type { TakenChunk } from '../hand-over.ts';
import type { Store } from '../materialize/store.ts';

/** The stages in which phase 1 of a group calls the store, or works between two calls. */
type StageOfGroup = 'work' | 'read' | 'write';

/**
 * The stages of a chunk, from the timestamp of its first record to its effect, without overlap. docs/metrics.md
 * describes each stage.
 */
export const stages = [
  'delivery',
  'queue',
  'prerequisites',
  'gather',
  'work',
  'read',
  'write',
  'finish',
] as const;
export type Stage = (typeof stages)[number];

const stageOf: Record<keyof Store, StageOfGroup> = {
  readCurrent: 'read',
  readEntities: 'read',
  readRevisions: 'read',
  readFirstChildren: 'read',
  readEnvelopes: 'read',
  findDependents: 'read',
  findDependentsPage: 'read',
  write: 'write',
  saveFanOutCursor: 'write',
};

/** How long phase 1 of a group was in each of these stages, and when it ended, in milliseconds. */
export type FirstPhase = { ms: Record<StageOfGroup, number>; endedMs: number };

/**
 * Wraps a store to measure how long its calls take. The time between two calls counts as work. The time of overlapping
 * calls counts once, for the call that began first.
 */
export function timeStore(store: Store): { store: Store; end: () => FirstPhase } {
  const ms = { work: 0, read: 0, write: 0 };
  const calls: StageOfGroup[] = [];
  let sinceMs = performance.now();
  const countTime = (): number => {
    const nowMs = performance.now();
    ms[calls[0] ?? 'work'] += nowMs - sinceMs;
    sinceMs = nowMs;
    return nowMs;
  };
  const timed = (name: keyof Store) => {
    const call = store[name] as (...args: unknown[]) => Promise<unknown>;
    const stage = stageOf[name];
    return async (...args: unknown[]) => {
      countTime();
      calls.push(stage);
      try {
        return await call(...args);
      } finally {
        countTime();
        calls.splice(calls.indexOf(stage), 1);
      }
    };
  };
  const names = Object.keys(stageOf) as (keyof Store)[];
  return {
    store: Object.fromEntries(names.map((name) => [name, timed(name)])) as Store,
    end: () => ({ endedMs: countTime(), ms }),
  };
}

/** When a group began, the stages of its phase 1, and the instant at which phase 2 of a chunk has ended. */
type GroupTimes = { begunMs: number; firstPhase: FirstPhase; now: Date };

/** Observes each stage of a chunk once, when its effect is durable. */
export function observeStages(
  stageSeconds: Histogram<'stage'>,
  { records, arrival }: Pick<TakenChunk, 'records' | 'arrival'>,
  { begunMs, firstPhase, now }: GroupTimes,
): void {
  const { fetchedMs, takenMs } = arrival;
  const nextMs = Math.max(fetchedMs, arrival.nextMs);
  const endedMs = performance.now();
  const fetchedAtMs = now.getTime() - (endedMs - fetchedMs);
  const ms: Record<Stage, number> = {
    delivery: deliveryMs(records[0], fetchedAtMs),
    queue: nextMs - fetchedMs,
    prerequisites: takenMs - nextMs,
    gather: begunMs - takenMs,
    ...firstPhase.ms,
    finish: endedMs - firstPhase.endedMs,
  };
  for (const stage of stages) stageSeconds.observe({ stage }, ms[stage] / 1_000);
}

/** The time from the timestamp of a record to its fetch; 0 if it is unknown. */
function deliveryMs(record: KafkaRecord | undefined, fetchedAtMs: number): number {
  // Kafka's timestamp of a record without one is -1.
  if (!record || record.position.timestampMs < 0) return 0;
  // The clocks of producers and MongoDB may differ.
  return Math.max(0, fetchedAtMs - record.position.timestampMs);
}
