import { isDeepStrictEqual } from 'node:util';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { fold } from '../convergence/fold.ts';
import { changeAt, engineDeps } from '../support/engine.ts';
import type { Event } from '../support/events.ts';
import { emptyData, memoryStore, type Data } from './memory-store.ts';
import { comparable } from '../convergence/read-documents.ts';
import { createWorker, createSchedule, NoReply, type Worker, type Schedule } from './schedule.ts';

/** The documents that differ from the fold, by id, and the steps that led there. */
export type Failure = { differing: Record<string, { expected: unknown; actual: unknown }>; trace: string[] };

/**
 * A partition of the log: its changes, the offset up to which any worker has applied it completely, the committed
 * offset, and how often it was assigned.
 */
type Partition = {
  kind: Kind;
  name: string;
  changes: Change[];
  applied: number;
  committed: number;
  epoch: number;
};

type Simulation = {
  schedule: Schedule;
  data: Data;
  partitions: Map<string, Partition>;
  running: Set<Promise<void>>;
};

const partitionsPerTopic = 2;
/** Records that a worker applies at a time, at most. */
const batchMax = 4;

/**
 * Runs the engine over a history under one seeded schedule, with a worker for each partition. The schedule orders their
 * steps, lets some fail, crashes workers, and reassigns partitions while the old worker still works. Returns null where
 * the documents equal the fold.
 */
export async function simulate(history: Event[], seed: number): Promise<Failure | null> {
  const schedule = createSchedule(seed);
  const partitions = partition(history);
  const simulation: Simulation = { schedule, data: emptyData(), partitions, running: new Set() };
  const workers = new Map<Worker, Partition>();
  const assign = (to: Partition) => {
    to.epoch += 1;
    const worker = createWorker(
      `${to.name}#${to.epoch}`,
      positionsOf(simulation, () => schedule.random.chance(0.3)),
    );
    workers.set(worker, to);
    void work(simulation, worker, to);
  };
  for (const each of partitions.values()) assign(each);
  await schedule.drive((worker) => disturb(schedule, worker, workers, assign));
  await Promise.all(simulation.running);
  const differing = differences(fold(history), simulation.data);
  return Object.keys(differing).length > 0 ? { differing, trace: schedule.trace } : null;
}

/** The worker crashes, or loses its partition with or without notice. The committed offset may be set back too. */
function disturb(
  { random, trace, crash }: Schedule,
  worker: Worker,
  workers: Map<Worker, Partition>,
  assign: (to: Partition) => void,
): void {
  const partition = workers.get(worker);
  if (!partition) throw new Error(`${worker.name} has no partition`);
  const how = random.pick([
    'crashes',
    'loses its partition without notice',
    'loses its partition with notice',
  ] as const);
  const setBackBy = random.chance(0.2) ? random.int(3) : 0;
  partition.committed = Math.max(0, partition.committed - setBackBy);
  trace.push(`${worker.name} ${how}; ${partition.name} starts again at ${partition.committed}`);
  if (how === 'loses its partition with notice') worker.ending.abort();
  if (how === 'crashes') crash(worker);
  assign(partition);
}

/** The positions that a process knows. It reads them now and then, and they never move back. */
function positionsOf({ partitions }: Simulation, isRead: () => boolean): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    if (isRead()) for (const partition of partitions.values()) known.set(partition.name, partition.applied);
    return known.get(name) ?? 0;
  };
}

/** Applies the partition's records from the committed offset, and commits after each batch. */
function work(simulation: Simulation, worker: Worker, partition: Partition): Promise<void> {
  const { schedule } = simulation;
  const store = memoryStore(simulation.data, (label) => schedule.pause(worker, label));
  const deps = engineDeps(store, {
    cache: worker.cache,
    isApplied: (kind, { partition: number, offset }) => offset < worker.positions(`${kind}/${number}`),
    signal: worker.ending.signal,
  });
  const { epoch } = partition;
  const consume = async () => {
    let position = partition.committed;
    while (position < partition.changes.length) {
      const batch = partition.changes.slice(position, position + 1 + schedule.random.int(batchMax));
      try {
        await schedule.pause(worker, `fetch ${position} to ${position + batch.length - 1}`);
        await applyChanges(deps, partition.kind, batch);
      } catch (error) {
        if (error instanceof NoReply) continue;
        throw error;
      }
      position += batch.length;
      partition.applied = Math.max(partition.applied, position);
      // The group refuses the commit of a worker that is no longer a member.
      await schedule.pause(worker, `commit ${position}`);
      if (partition.epoch === epoch) partition.committed = position;
      else if (schedule.random.chance(0.5)) return;
    }
  };
  const ended = consume().catch((error: Error) => {
    if (!worker.isDead && !worker.ending.signal.aborted) throw error;
  });
  simulation.running.add(ended);
  return ended;
}

/** Distributes a history over partitions by key, in order, as a producer does. */
function partition(history: Event[]): Map<string, Partition> {
  const partitions = new Map<string, Partition>();
  history.forEach((event, index) => {
    const number =
      [...event.id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % partitionsPerTopic;
    const name = `${event.kind}/${number}`;
    const known = partitions.get(name) ?? {
      ...{ kind: event.kind, name, changes: [], applied: 0, committed: 0, epoch: 0 },
    };
    partitions.set(name, known);
    known.changes.push(
      toChange(event, { partition: number, offset: known.changes.length, timestampMs: index }),
    );
  });
  return partitions;
}

const parsed = new WeakMap<Event, Map<string, Change>>();

/** Each event is parsed once for all schedules; the engine never alters a change. */
function toChange(event: Event, position: Change['position']): Change {
  const positionKey = `${position.partition}/${position.offset}/${position.timestampMs}`;
  const known = parsed.get(event) ?? new Map<string, Change>();
  parsed.set(event, known);
  const before = known.get(positionKey);
  if (before) return before;
  const change = changeAt(event, position);
  known.set(positionKey, change);
  return change;
}

function differences(expected: ReturnType<typeof fold>, data: Data): Failure['differing'] {
  const actual = new Map<string, unknown>();
  for (const kind of kinds)
    for (const document of data.get(kind)?.values() ?? [])
      if (!document.deletedAt) actual.set(document._id, comparable(kind, document));
  const ids = new Set([...expected.keys(), ...actual.keys()]);
  const differing = [...ids].filter((id) => !isDeepStrictEqual(expected.get(id), actual.get(id)));
  return Object.fromEntries(
    differing.map((id) => [id, { expected: expected.get(id), actual: actual.get(id) }]),
  );
}
