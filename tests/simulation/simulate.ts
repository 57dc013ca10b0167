import {
  applyTogether,
  completeBatch,
  type UpdateDeps,
} from '../../services/projector/materialize/fan-out.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { applyChanges, engineDeps } from '../support/engine.ts';
import type { Event } from '../support/events.ts';
import { differences, type Differences } from './differences.ts';
import { append, type DeadLetter, type Partition } from './log.ts';
import { emptyData, memoryStore, type Data } from './memory-store.ts';
import { memorySweepStore } from './memory-sweep-store.ts';
import { firstDay, lateDay, sweepDay } from './long-history.ts';
import { createWorker, createSchedule, replied, retried, type Worker, type Schedule } from './schedule.ts';

/** The documents that differ from the fold, by id, and the steps that led there. */
export type Failure = { differing: Differences; trace: string[] };

type Simulation = {
  schedule: Schedule;
  data: Data;
  partitions: Map<string, Partition>;
  deadLetters: Set<DeadLetter>;
  /** Lets another worker take over from one that crashes or loses its partition. */
  successors: Map<Worker, () => void>;
  running: Set<Promise<void>>;
  startMs: number;
  interruptsFanOuts: boolean;
};

/** Records that a worker applies at a time, at most. */
const batchMax = 4;

/**
 * Runs the engine over a history under one seeded schedule, with a worker for each partition. The schedule orders their
 * steps, lets some fail, crashes workers, and reassigns partitions while the old worker still works. A long history goes
 * on after its tombstone documents have expired; partitions are added, records are dead-lettered and re-driven, and
 * sweeps run beside the workers. Returns null if the documents equal the fold.
 */
export async function simulate(history: Event[], seed: number): Promise<Failure | null> {
  const schedule = createSchedule(seed);
  const simulation: Simulation = {
    schedule,
    data: emptyData(),
    partitions: new Map(),
    deadLetters: new Set(),
    successors: new Map(),
    running: new Set(),
    startMs: firstDay,
    interruptsFanOuts: seed % 4 === 1,
  };
  const late = history.filter(({ time }) => time.getTime() >= lateDay);
  const early = history.filter(({ time }) => time.getTime() < lateDay);
  const isLong = late.length > 0;
  const isRejected = () => isLong && schedule.random.chance(0.1);
  append(simulation.partitions, early, { grows: isLong, isRejected });
  await run(simulation, [...workers(simulation), redriver(simulation, 2)]);
  await run(simulation, [redriver(simulation, Infinity)]);
  if (isLong) {
    simulation.startMs = lateDay;
    expireTombstones(simulation);
    append(simulation.partitions, late, { grows: true, isRejected });
    const sweepers = [sweeper(simulation), sweeper(simulation)];
    await run(simulation, [...workers(simulation), redriver(simulation, 2), ...sweepers]);
    simulation.startMs = sweepDay;
    await run(simulation, [redriver(simulation, Infinity), sweeper(simulation)]);
    await run(simulation, [sweeper(simulation)]);
  }
  const differing = differences(early, late, simulation.data);
  return Object.keys(differing).length > 0 ? { differing, trace: schedule.trace } : null;
}

async function run(simulation: Simulation, starts: (() => void)[]): Promise<void> {
  for (const start of starts) start();
  const { schedule, running, successors } = simulation;
  await schedule.drive((worker) => disturb(schedule, worker, successors));
  await Promise.all(running);
}

/** The worker crashes, or another takes over from it, with or without its notice. */
function disturb(
  { random, trace, crash }: Schedule,
  worker: Worker,
  successors: Map<Worker, () => void>,
): void {
  const how = random.pick([
    'crashes',
    'loses its partition without notice',
    'loses its partition with notice',
  ] as const);
  trace.push(`${worker.name} ${how}`);
  if (how === 'loses its partition with notice') worker.ending.abort();
  if (how === 'crashes') crash(worker);
  successors.get(worker)?.();
}

/** Removes the tombstone documents that have expired, as the TTL monitor does, and keeps their records from coming again. */
function expireTombstones({ data, partitions, startMs }: Simulation): void {
  for (const documents of data.values())
    for (const [id, { expiresAt }] of documents)
      if (expiresAt && expiresAt.getTime() <= startMs) documents.delete(id);
  for (const partition of partitions.values()) partition.redeliverableFrom = partition.records.length;
}

/** The positions that a process knows. It reads them now and then, and they never move back. */
function positionsOf({ partitions }: Simulation, isRead: () => boolean): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    if (isRead()) for (const partition of partitions.values()) known.set(partition.name, partition.applied);
    return known.get(name) ?? 0;
  };
}

const depsOf = (simulation: Simulation, worker: Worker, overrides: Partial<UpdateDeps>): UpdateDeps =>
  engineDeps(
    memoryStore(simulation.data, (label) => simulation.schedule.pause(worker, label)),
    {
      now: () => new Date(simulation.startMs + simulation.schedule.trace.length),
      signal: worker.ending.signal,
      ...overrides,
    },
  );

/** Runs an actor. It tries again if the store does not reply, and a successor starts if it crashes. */
function act(simulation: Simulation, worker: Worker, work: () => Promise<void>, succeed: () => void): void {
  simulation.successors.set(worker, succeed);
  const ended = work().catch((error: Error) => {
    if (!worker.isDead && !worker.ending.signal.aborted) throw error;
  });
  simulation.running.add(ended);
}

/**
 * Workers for the partitions: in every other schedule, one worker for each, else for some. The committed offset may be set
 * back when a partition is assigned again.
 */
function workers(simulation: Simulation): (() => void)[] {
  const { random } = simulation.schedule;
  const isGathering = random.chance(0.5);
  const groups: Partition[][] = [];
  for (const partition of simulation.partitions.values()) {
    const group = isGathering && random.chance(0.7) ? groups.at(-1) : undefined;
    if (group) group.push(partition);
    else groups.push([partition]);
  }
  return groups.map((partitions) => () => assign(simulation, partitions));
}

function assign(simulation: Simulation, partitions: Partition[]): void {
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
      assign(simulation, partitions);
    },
  );
}

/** Applies the partitions' records from the committed offsets, some together, and commits each after its own. */
async function consume(simulation: Simulation, worker: Worker, partitions: Partition[]): Promise<void> {
  const { schedule, deadLetters } = simulation;
  const { random } = schedule;
  const deps = depsOf(simulation, worker, {
    isApplied: (kind, { partition: number, offset }) => offset < worker.positions(`${kind}/${number}`),
  });
  if (simulation.interruptsFanOuts) deps.store = interrupted(simulation, worker, partitions, deps.store);
  let assigned = partitions.map((partition) => ({
    partition,
    epoch: partition.epoch,
    position: partition.committed,
  }));
  for (;;) {
    assigned = assigned.filter(({ partition, position }) => position < partition.records.length);
    if (assigned.length === 0) return;
    const first = random.pick(assigned);
    const taken = assigned
      .filter((one) => one === first || random.chance(0.7))
      .map((one) => {
        const { partition, position } = one;
        const records = partition.records.slice(position, position + 1 + random.int(batchMax));
        const changes = records.flatMap(({ change, deadLetter }) => (deadLetter ? [] : [change]));
        return { one, records, batch: { kind: partition.kind, changes } };
      });
    const outcome = await replied(async () => {
      const range = ({ one, records }: (typeof taken)[number]) =>
        `${one.partition.name} ${one.position} to ${one.position + records.length - 1}`;
      await schedule.pause(worker, `fetch ${taken.map(range).join(', ')}`);
      return applyTogether(
        deps,
        taken.map(({ batch }) => batch),
      );
    });
    if (!outcome) continue;
    for (const { one, records, batch } of taken) {
      const { partition, epoch } = one;
      if (!(await replied(() => completeBatch(deps, batch, outcome).then(() => true)))) continue;
      for (const { deadLetter } of records) if (deadLetter) deadLetters.add(deadLetter);
      one.position += records.length;
      partition.applied = Math.max(partition.applied, one.position);
      // The group refuses the commit of a worker that is no longer a member.
      await schedule.pause(worker, `commit ${partition.name} ${one.position}`);
      if (partition.epoch === epoch) partition.committed = one.position;
      else if (random.chance(0.5)) assigned = assigned.filter((other) => other !== one);
    }
  }
}

/** The worker loses its partition whenever it has saved a fan-out cursor. A fan-out that does not go on never ends. */
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
    assign(simulation, partitions);
    signal.throwIfAborted();
  },
});

/** An operator's redrive, beside the workers: dead letters of one kind at a time, some of them. */
function redriver(simulation: Simulation, turns: number): () => void {
  const { schedule, deadLetters } = simulation;
  const start = () => {
    const worker = createWorker('redrive', () => 0);
    const deps = depsOf(simulation, worker, { isApplied: () => false, outOfOrder: true });
    const redrive = async () => {
      for (let turn = 0; turn < turns; turn += 1) {
        if (turns === Infinity && deadLetters.size === 0) return;
        await retried(() => schedule.pause(worker, 'redrive'));
        const [first] = deadLetters;
        const some = [...deadLetters]
          .filter(({ kind }) => kind === first?.kind)
          .filter((one) => one === first || schedule.random.chance(0.7));
        if (!first) continue;
        const inLogOrder = some.map(({ change }) => change).sort(byPosition);
        await retried(() => applyChanges(deps, first.kind, inLogOrder));
        for (const deadLetter of some) deadLetters.delete(deadLetter);
      }
    };
    act(simulation, worker, redrive, start);
  };
  return start;
}

type Positioned = DeadLetter['change'];
const byPosition = ({ position: a }: Positioned, { position: b }: Positioned) =>
  a.partition - b.partition || a.offset - b.offset;

/** Sweeps twice, the first time completely, as of the watermark: the least time of a record that is not applied yet. */
function sweeper(simulation: Simulation): () => void {
  const { schedule, data, deadLetters, partitions } = simulation;
  const start = () => {
    const worker = createWorker('sweep', () => 0);
    const deps = depsOf(simulation, worker, {});
    const pause = (label: string) => schedule.pause(worker, label);
    const sweepStore = memorySweepStore(data, deadLetters, pause);
    const sweepOnce = (isComplete: boolean) => {
      const notApplied = [...partitions.values()].flatMap(({ records, applied }) => records.slice(applied));
      const asOfMs = Math.min(simulation.startMs, ...notApplied.map(({ time }) => time.getTime()));
      return sweep({ ...deps, sweepStore, isComplete, asOf: new Date(asOfMs) });
    };
    const sweepTwice = async () => {
      for (let turn = 0; turn < 2; turn += 1) await retried(() => sweepOnce(turn === 0));
    };
    act(simulation, worker, sweepTwice, start);
  };
  return start;
}
