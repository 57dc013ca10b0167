import { setTimeout as sleep } from 'node:timers/promises';
import type { Positions } from './positions.ts';

/** A partition with at least this many records to apply has a backlog. */
const backlogMin = 200;
const pollMs = 20;

/**
 * Waits while the partition has a backlog and its prerequisite topics have one too, so that nearly every document is
 * written once. It waits only for the records that were in those topics when the wait began, never for a stalled
 * partition, and no longer than until `signal` aborts. `onWait` is called at each poll.
 */
export type WaitForPrerequisites = (
  partition: { topic: string; lag: number },
  signal: AbortSignal,
  onWait: () => void,
) => Promise<void>;

/** Creates the wait of one partition. The prerequisites of a topic are the topics that its documents refer to. */
export function createWaitForPrerequisites(
  positions: Positions,
  prerequisitesOf: (topic: string) => string[],
): WaitForPrerequisites {
  let targets: Map<string, number> | null = null;
  return async ({ topic, lag }, signal, onWait) => {
    if (lag < backlogMin) {
      targets = null;
      return;
    }
    targets ??= positions.catchUpTargets(prerequisitesOf(topic));
    while (!signal.aborted && positions.isCatchingUp(targets)) {
      onWait();
      await sleep(pollMs);
    }
  };
}
