import { setTimeout as sleep } from 'node:timers/promises';
import type { Positions } from './positions.ts';

/** The number of records to apply from which a partition has a backlog. */
const backlogMin = 200;
const pollMs = 20;
/** The longest wait of a partition in one backlog, in milliseconds. A load has no such limit. */
const waitMaxMs = 10 * 60_000;

/** The next chunk of a partition: its topic, its first offset, and the end of the log as last seen. */
type NextChunk = { topic: string; position: number; end: () => number };

/** A backlog of the partition, in which it waits for its prerequisites. */
type Backlog = {
  /** The ends of the prerequisite partitions when the backlog began. The wait ends once they have been applied. */
  targets: Map<string, number>;
  /** When the wait ends in any case. */
  deadlineMs: number;
};

/**
 * Waits until the next chunk of a partition may be applied, or `signal` aborts; calls `onWait` at each poll.
 *
 * A partition with a backlog waits while its prerequisite topics have a backlog too. Otherwise most documents would be
 * written twice: first without the entities that they refer to, then with them. The wait has three limits: it is for
 * the records that those topics had when the wait began, it lasts ten minutes at most, and `isCatchingUp` skips stalled
 * partitions. While a build loads, it waits for all prerequisites without these limits.
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
  const beginBacklog = (topic: string): Backlog => ({
    targets: positions.catchUpTargets(prerequisitesOf(topic)),
    deadlineMs: positions.nowMs() + waitMaxMs,
  });
  // Null while the partition follows its log.
  let backlog: Backlog | null = null;
  let wasLoading = false;
  return async ({ topic, position, end }, signal, onWait) => {
    const isLoading = positions.isLoading();
    // The records after the load are a new backlog, with new targets.
    if (wasLoading && !isLoading) backlog = null;
    wasLoading = isLoading;
    if (!isLoading && end() - position < backlogMin) {
      backlog = null;
      return;
    }
    backlog ??= beginBacklog(topic);
    const { targets, deadlineMs } = backlog;
    // Asks again whether a build loads, because the load may end during the wait.
    const isOverdue = () => !positions.isLoading() && positions.nowMs() >= deadlineMs;
    while (!signal.aborted && !isOverdue() && positions.isCatchingUp(targets)) {
      onWait();
      await sleep(pollMs);
    }
  };
}
