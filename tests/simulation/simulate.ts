import type { Event } from '../support/events.ts';
import { redriver, type Simulation, sweeper, verifier } from './actors.ts';
import { type Differences, differences } from './differences.ts';
import { append } from './log.ts';
import { firstDay, lateDay, sweepDay } from './long-history.ts';
import { emptyData } from './memory-store.ts';
import { failOver } from './oplog.ts';
import { createSchedule, type Worker } from './schedule.ts';
import { laterEdges, repairEverything, repairSome } from './verifier.ts';
import { workers } from './workers.ts';

/** The documents that differ from the fold, by id, and the steps that led there. */
export type Failure = { differing: Differences; trace: string[] };

/**
 * Runs the engine over a history under one seeded schedule, with a worker for each partition. The schedule orders their
 * steps, lets some fail, crashes workers, and reassigns partitions while the old worker still works. A long history
 * continues after its tombstone documents have expired. Then partitions are added, records are dead-lettered and
 * redriven, and sweeps run beside the workers. Returns null if the documents equal the fold.
 */
export async function simulate(history: Event[], seed: number): Promise<Failure | null> {
  const schedule = createSchedule(seed);
  const simulation: Simulation = {
    schedule,
    data: emptyData(),
    oplog: [],
    partitions: new Map(),
    deadLetters: new Set(),
    successors: new Map(),
    running: new Set(),
    startMs: firstDay,
    interruptsFanOuts: seed % 4 === 1,
    failsOver: seed % 2 === 0,
    missingEdge: null,
  };
  const late = history.filter(({ time }) => time.getTime() >= lateDay);
  const early = history.filter(({ time }) => time.getTime() < lateDay);
  const isLong = late.length > 0;
  const isRejected = () => isLong && schedule.random.chance(0.1);
  const isUpgraded = schedule.random.chance(0.5);
  // Leaves few records for later: a later change would repair a document that the verifier has left wrong.
  const earlierCount = isUpgraded ? Math.max(0, early.length - 1 - schedule.random.int(8)) : 0;
  if (isUpgraded) await runEarlierRelease(simulation, early.slice(0, earlierCount), { isRejected });
  append(simulation.partitions, early.slice(earlierCount), { grows: isLong, isRejected });
  const repair = verifier(simulation, isUpgraded ? repairEverything : repairSome);
  await runActors(simulation, [...workers(simulation), redriver(simulation, 2), repair]);
  await runActors(simulation, [redriver(simulation, Infinity)]);
  const earlyFailure = failureOf(simulation, early, []);
  if (earlyFailure) return earlyFailure;
  if (isLong) {
    simulation.startMs = lateDay;
    expireTombstones(simulation);
    append(simulation.partitions, late, { grows: true, isRejected });
    const sweepers = [sweeper(simulation), sweeper(simulation)];
    const repairAll = verifier(simulation, repairEverything);
    await runActors(simulation, [...workers(simulation), redriver(simulation, 2), ...sweepers, repairAll]);
    simulation.startMs = sweepDay;
    await runActors(simulation, [redriver(simulation, Infinity), sweeper(simulation)]);
    await runActors(simulation, [sweeper(simulation)]);
  }
  return failureOf(simulation, early, late);
}

/** The documents that differ from the fold of the history so far; null if all are equal. */
function failureOf({ data, schedule }: Simulation, early: Event[], late: Event[]): Failure | null {
  const differing = differences(early, late, data);
  return Object.keys(differing).length > 0 ? { differing, trace: schedule.trace } : null;
}

/** Applies the first part of a history by a release whose documents lack an edge. */
async function runEarlierRelease(
  simulation: Simulation,
  events: Event[],
  { isRejected }: { isRejected: () => boolean },
): Promise<void> {
  simulation.missingEdge = simulation.schedule.random.pick(laterEdges);
  append(simulation.partitions, events, { grows: false, isRejected });
  await runActors(simulation, workers(simulation));
  simulation.missingEdge = null;
}

async function runActors(simulation: Simulation, starts: (() => void)[]): Promise<void> {
  for (const start of starts) start();
  const { schedule, running, oplog } = simulation;
  await schedule.drive((worker) => disturb(simulation, worker));
  await Promise.all(running);
  // At the end of a run a majority has every write, so no fail-over rolls one back.
  oplog.length = 0;
}

/** MongoDB fails over, the worker crashes, or another worker takes over, with or without notice to the first. */
function disturb(simulation: Simulation, worker: Worker): void {
  const { schedule, successors, oplog, failsOver } = simulation;
  const { random, trace, crash } = schedule;
  if (failsOver && random.chance(0.7)) {
    const index = random.int(Math.max(1, oplog.length));
    trace.push(`a fail-over rolls back ${oplog.length - index} writes`);
    failOver(oplog, index);
    return;
  }
  const disturbance = random.pick([
    'crashes',
    'loses its partition without notice',
    'loses its partition with notice',
  ] as const);
  trace.push(`${worker.name} ${disturbance}`);
  if (disturbance === 'loses its partition with notice') worker.ending.abort();
  if (disturbance === 'crashes') crash(worker);
  successors.get(worker)?.();
}

/**
 * Removes the tombstone documents that have expired, as the TTL monitor does, and lets no worker read their records
 * again.
 */
function expireTombstones({ data, partitions, startMs }: Simulation): void {
  for (const documents of data.values()) {
    for (const [id, { expiresAt }] of documents) {
      if (expiresAt && expiresAt.getTime() <= startMs) documents.delete(id);
    }
  }
  for (const partition of partitions.values()) partition.redeliverableFrom = partition.records.length;
}
