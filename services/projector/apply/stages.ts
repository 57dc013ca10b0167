import type { Histogram } from 'prom-client';
import type { TakenChunk } from '../hand-over.ts';
import type { Store } from '../materialize/store.ts';

/** The stages of a chunk in which its group is with the store, or between two calls of it. */
type StageOfGroup = 'work' | 'read' | 'write';

/**
 * The stages of a chunk, from the timestamp of its first record to its effect. They do not overlap. docs/metrics.md
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
  pageOfDependents: 'read',
  write: 'write',
  saveFanOutCursor: 'write',
};

/** How long a group was in each of its stages, and when the last of them ended, in milliseconds. */
export type FirstPhase = { ms: Record<StageOfGroup, number>; endedMs: number };

/**
 * A store that measures how long its calls take. Between two calls the group is at work; of calls at the same time the
 * first one counts.
 */
export function timeStore(store: Store): { store: Store; end: () => FirstPhase } {
  const ms = { work: 0, read: 0, write: 0 };
  const calls: StageOfGroup[] = [];
  let sinceMs = performance.now();
  const count = (): number => {
    const nowMs = performance.now();
    ms[calls[0] ?? 'work'] += nowMs - sinceMs;
    sinceMs = nowMs;
    return nowMs;
  };
  const timed = (name: keyof Store) => {
    const call = store[name] as (...args: unknown[]) => Promise<unknown>;
    return async (...args: unknown[]) => {
      count();
      calls.push(stageOf[name]);
      try {
        return await call(...args);
      } finally {
        count();
        calls.splice(calls.indexOf(stageOf[name]), 1);
      }
    };
  };
  const names = Object.keys(stageOf) as (keyof Store)[];
  return {
    store: Object.fromEntries(names.map((name) => [name, timed(name)])) as Store,
    end: () => ({ endedMs: count(), ms }),
  };
}

/** When a group has begun, the stages of its first phase, and the instant now, when the second one is over. */
type Applying = { begunMs: number; firstPhase: FirstPhase; now: Date };

/** Observes each stage of a chunk once, when its effect is durable. */
export function observeStages(
  stageSeconds: Histogram<'stage'>,
  { records, arrival }: Pick<TakenChunk, 'records' | 'arrival'>,
  { begunMs, firstPhase, now }: Applying,
): void {
  const { fetchedMs, takenMs } = arrival;
  const nextMs = Math.max(fetchedMs, arrival.nextMs);
  const endedMs = performance.now();
  const timestampMs = records[0]?.position.timestampMs ?? -1;
  const deliveryMs = now.getTime() - (endedMs - fetchedMs) - timestampMs;
  const ms: Record<Stage, number> = {
    // The clocks of producers and MongoDB may differ. Without a timestamp (-1), the delivery time is unknown.
    delivery: timestampMs < 0 ? 0 : Math.max(0, deliveryMs),
    queue: nextMs - fetchedMs,
    prerequisites: takenMs - nextMs,
    gather: begunMs - takenMs,
    ...firstPhase.ms,
    finish: endedMs - firstPhase.endedMs,
  };
  for (const stage of stages) stageSeconds.observe({ stage }, ms[stage] / 1_000);
}
