import {
  applyTogether,
  type ChangesOfKind,
  finishLargeFanOuts,
  type GroupOutcome,
  type UpdateDeps,
} from '../../services/projector/materialize/fan-out.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { act, depsOf, type Simulation } from './actors.ts';
import type { Partition } from './log.ts';
import { createWorker, replied, type Worker } from './schedule.ts';

/** The most records of a partition that a worker applies in one call. */
const chunkMax = 4;

/**
 * The functions that start the workers: in about half of the schedules a worker has one partition, otherwise often
 * several. The committed offset may be set back when a partition is assigned again.
 */
export function workers(simulation: Simulation): (() => void)[] {
  const { random } = simulation.schedule;
  const isGathering = random.chance(0.5);
  const groups: Partition[][] = [];
  for (const partition of simulation.partitions.values()) {
    const group = isGathering && random.chance(0.7) ? groups.at(-1) : undefined;
    if (group) group.push(partition);
    else groups.push([partition]);
  }
  return groups.map((partitions) => () => startWorker(simulation, partitions));
}

function startWorker(simulation: Simulation, partitions: Partition[]): void {
  const { random } = simulation.schedule;
  for (const partition of partitions) partition.epoch += 1;
  const name = partitions.map((partition) => `${partition.name}#${partition.epoch}`).join(' ');
  const positions = positionsOf(simulation, () => random.chance(0.3));
  const worker = createWorker(name, positions);
  act(
    simulation,
    worker,
    () => consume(simulation, worker, partitions),
    () => {
      for (const partition of partitions) {
        const setBackBy = random.chance(0.2) ? random.int(3) : 0;
        partition.committed = Math.max(partition.redeliverableFrom, partition.committed - setBackBy);
      }
      startWorker(simulation, partitions);
    },
  );
}

/** The positions that a process knows. It reads them at the lookups that `isRead` selects. They never move back. */
function positionsOf({ partitions }: Simulation, isRead: () => boolean): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    if (isRead()) {
      for (const partition of partitions.values()) known.set(partition.name, partition.applied);
    }
    return known.get(name) ?? 0;
  };
}

/** A partition of a worker, from its assignment on. */
type Assigned = { partition: Partition; epoch: number; position: number };

/** The records that a worker has fetched from a partition, and the changes of those that are not rejected. */
type Fetched = { assigned: Assigned; records: Partition['records']; chunk: ChangesOfKind };

/** Applies the partitions' records from their committed offsets, some in one call, and commits each partition. */
async function consume(simulation: Simulation, worker: Worker, partitions: Partition[]): Promise<void> {
  const deps = depsOf(simulation, worker, {
    isApplied: (kind, { partition: number, offset }) => offset < worker.positions(`${kind}/${number}`),
  });
  if (simulation.interruptsFanOuts) deps.store = interrupted(simulation, worker, partitions, deps.store);
  let assigned: Assigned[] = partitions.map((partition) => ({
    partition,
    epoch: partition.epoch,
    position: partition.committed,
  }));
  for (;;) {
    assigned = assigned.filter(({ partition, position }) => position < partition.records.length);
    if (assigned.length === 0) return;
    const fetched = fetchSome(simulation, assigned);
    const outcome = await replied(() => applyFetched(simulation, worker, deps, fetched));
    // Without a reply from the store, the worker fetches again.
    if (!outcome) continue;
    for (const chunk of fetched) {
      const lost = await completeAndCommit(simulation, worker, deps, chunk, outcome);
      if (lost) assigned = assigned.filter((other) => other !== lost);
    }
  }
}

/** Takes the next records of one random partition, and often of others. */
function fetchSome({ schedule: { random } }: Simulation, assigned: Assigned[]): Fetched[] {
  const first = random.pick(assigned);
  const chosen = assigned.filter((candidate) => candidate === first || random.chance(0.7));
  return chosen.map((source) => {
    const { partition, position } = source;
    const records = partition.records.slice(position, position + 1 + random.int(chunkMax));
    const changes = records.flatMap(({ change, deadLetter }) => (deadLetter ? [] : [change]));
    return { assigned: source, records, chunk: { kind: partition.kind, changes } };
  });
}

async function applyFetched(
  { schedule }: Simulation,
  worker: Worker,
  deps: UpdateDeps,
  fetched: Fetched[],
): Promise<GroupOutcome> {
  const ranges = fetched.map(
    ({ assigned: { partition, position }, records }) =>
      `${partition.name} ${position} to ${position + records.length - 1}`,
  );
  await schedule.pause(worker, `fetch ${ranges.join(', ')}`);
  const chunks = fetched.map(({ chunk }) => chunk);
  return applyTogether(deps, chunks);
}

/** Returns the partition if its worker notices at the commit that another worker has it. */
async function completeAndCommit(
  { schedule, deadLetters }: Simulation,
  worker: Worker,
  deps: UpdateDeps,
  { assigned, records, chunk }: Fetched,
  outcome: GroupOutcome,
): Promise<Assigned | null> {
  const { partition, epoch } = assigned;
  const isComplete = await replied(() => finishLargeFanOuts(deps, chunk, outcome).then(() => true));
  if (!isComplete) return null;
  for (const { deadLetter } of records) {
    if (deadLetter) deadLetters.add(deadLetter);
  }
  assigned.position += records.length;
  partition.applied = Math.max(partition.applied, assigned.position);
  await schedule.pause(worker, `commit ${partition.name} ${assigned.position}`);
  if (partition.epoch === epoch) {
    partition.committed = assigned.position;
    return null;
  }
  // The group refuses the commit of a worker that is no longer a member. Some workers notice it only later.
  return schedule.random.chance(0.5) ? assigned : null;
}

/**
 * A store that takes the partition from the worker after every saved fan-out cursor. A fan-out that did not resume at
 * its cursor would never end.
 */
const interrupted = (
  simulation: Simulation,
  worker: Worker,
  partitions: Partition[],
  store: Store,
): Store => ({
  ...store,
  saveFanOutCursor: async (kind, of, cursor) => {
    await store.saveFanOutCursor(kind, of, cursor);
    const { signal } = worker.ending;
    if (!cursor || signal.aborted) return;
    simulation.schedule.trace.push(`${worker.name} loses its partition after a page`);
    worker.ending.abort();
    startWorker(simulation, partitions);
    signal.throwIfAborted();
  },
});
