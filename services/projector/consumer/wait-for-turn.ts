import { setTimeout as sleep } from 'node:timers/promises';
import { partitionKey } from '../kafka/topic-partition.ts';
import type { Positions } from './positions.ts';

/** A partition with at least this many records to apply has a backlog. */
const backlogMin = 200;
const pollMs = 20;
/** A partition that is loaded waits for seconds at least, until all are. */
const loadedPollMs = 250;

/** A partition, the offset of the next record to apply, and the present end of its log as far as known. */
export type Turn = { topic: string; partition: number; position: number; end: () => number };

/**
 * Waits until the next batch of a partition may be applied. While a build loads, records after the load wait. A backlog
 * waits while its prerequisite topics have one too, so that nearly every document is written once: it waits only for the
 * records that were in those topics when the wait began, and never for a stalled partition, unless a build loads. No
 * wait is longer than until `signal` aborts. `onWait` is called at each poll.
 */
export type WaitForTurn = (turn: Turn, signal: AbortSignal, onWait: () => void) => Promise<void>;

/** Creates the wait of one partition. The prerequisites of a topic are the topics that its documents refer to. */
export function createWaitForTurn(
  positions: Positions,
  prerequisitesOf: (topic: string) => string[],
): WaitForTurn {
  let targets: Map<string, number> | null = null;
  return async (turn, signal, onWait) => {
    const { topic, position, end } = turn;
    while (!signal.aborted && position >= positions.loadEnd(partitionKey(turn))) {
      // What has come since the load is a backlog of its own.
      targets = null;
      onWait();
      await sleep(loadedPollMs);
    }
    if (!positions.isLoading() && end() - position < backlogMin) {
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
