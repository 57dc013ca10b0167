import { setTimeout as sleep } from 'node:timers/promises';
import type { Positions } from './positions.ts';

/** A partition with at least so many records to apply has a backlog. */
const backlogMin = 200;
const pollMs = 20;

export type PrerequisiteWait = {
  /**
   * Resolves when it is a partition's turn. While it has a backlog, that is when the topics that its documents refer
   * to have been applied up to where they ended as the wait began, so that nearly every document is written once.
   * Partitions that do not move are not waited for.
   */
  wait: (of: { topic: string; lag: number }, isOurs: () => boolean, onWait: () => void) => Promise<void>;
};

/** One partition's turns. */
export function createPrerequisiteWait(
  positions: Positions,
  prerequisitesOf: (topic: string) => string[],
): PrerequisiteWait {
  let goals: Map<string, number> | null = null;
  return {
    wait: async ({ topic, lag }, isOurs, onWait) => {
      if (lag < backlogMin) {
        goals = null;
        return;
      }
      goals ??= positions.goals(prerequisitesOf(topic));
      while (isOurs() && positions.isShortOf(goals)) {
        onWait();
        await sleep(pollMs);
      }
    },
  };
}
