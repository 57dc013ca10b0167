import { setTimeout as sleep } from 'node:timers/promises';
import type { Positions } from './positions.ts';

/** A partition with at least this many records to apply has a backlog. */
const backlogMin = 200;
const pollMs = 20;
/** The longest that a partition waits in one backlog, in milliseconds, outside a load. */
const waitMaxMs = 10 * 60_000;

/** A topic, the offset of the next record of a partition to apply, and the present end of its log as far as known. */
type NextChunk = { topic: string; position: number; end: () => number };

/**
 * Waits until the next chunk of a partition may be applied, or `signal` aborts; calls `onWait` at each poll. A backlog
 * waits while its prerequisite topics have one too, so that nearly every document is written once: for the records that
 * were in those topics when the wait began, for ten minutes at most, and never for a stalled partition. While a build
 * loads, it waits for all of them.
 */
export type WaitForPrerequisites = (
  next: NextChunk,
  signal: AbortSignal,
  onWait: () => void,
) => Promise<void>;

/** Creates the wait of one partition. The prerequisites of a topic are the topics that its documents refer to. */
export function createWaitForPrerequisites(
  positions: Positions,
  prerequisitesOf: (topic: string) => string[],
): WaitForPrerequisites {
  let targets: Map<string, number> | null = null;
  let wasLoading = false;
  let untilMs = 0;
  return async ({ topic, position, end }, signal, onWait) => {
    const isLoading = positions.isLoading();
    // The records that arrived after the load form a separate backlog.
    if (wasLoading && !isLoading) targets = null;
    wasLoading = isLoading;
    if (!isLoading && end() - position < backlogMin) {
      targets = null;
      return;
    }
    if (targets === null) untilMs = positions.nowMs() + waitMaxMs;
    targets ??= positions.catchUpTargets(prerequisitesOf(topic));
    const isDue = () => !positions.isLoading() && positions.nowMs() >= untilMs;
    while (!signal.aborted && !isDue() && positions.isCatchingUp(targets)) {
      onWait();
      await sleep(pollMs);
    }
  };
}
