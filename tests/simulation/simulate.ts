import { isDeepStrictEqual } from 'node:util';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { fold } from '../convergence/fold.ts';
import { changeAt, engineDeps } from '../support/engine.ts';
import type { Event } from '../support/events.ts';
import { emptyData, memoryStore, type Data } from './memory-store.ts';
import { comparable } from '../convergence/read-documents.ts';
import { createLane, createSchedule, NoReply, type Lane, type Schedule } from './schedule.ts';

/** The differences from the fold, by id, and the steps that led to them. */
export type Failure = { differing: Record<string, { expected: unknown; actual: unknown }>; trace: string[] };

/** A partition of the log: its changes, its applied and committed positions, and the number of its assignments. */
type Partition = {
  kind: Kind;
  name: string;
  changes: Change[];
  applied: number;
  committed: number;
  epoch: number;
};

type Scenario = {
  schedule: Schedule;
  data: Data;
  partitions: Map<string, Partition>;
  running: Set<Promise<void>>;
};

const partitionsPerTopic = 2;
/** The maximum number of records in one step of a worker. */
const runMax = 4;

/**
 * Runs the engine over a history under one seeded schedule, with a worker for each partition. The schedule orders,
 * fails or crashes each step, and assigns partitions to other workers while the first still works. Returns null where
 * the documents equal the fold.
 */
export async function simulate(history: Event[], seed: number): Promise<Failure | null> {
  const schedule = createSchedule(seed);
  const partitions = partition(history);
  const scenario: Scenario = { schedule, data: emptyData(), partitions, running: new Set() };
  const lanes = new Map<Lane, Partition>();
  const assign = (to: Partition) => {
    to.epoch += 1;
    const lane = createLane(
      `${to.name}#${to.epoch}`,
      positionsOf(scenario, () => schedule.random.chance(0.3)),
    );
    lanes.set(lane, to);
    void work(scenario, lane, to);
  };
  for (const one of partitions.values()) assign(one);
  await schedule.drive((lane) => disturb(schedule, lane, lanes, assign));
  await Promise.all(scenario.running);
  const differing = differences(fold(history), scenario.data);
  return Object.keys(differing).length > 0 ? { differing, trace: schedule.trace } : null;
}

/** The worker crashes, or loses its partition and may notice it. The committed offset may move backwards too. */
function disturb(
  { random, trace, crash }: Schedule,
  lane: Lane,
  lanes: Map<Lane, Partition>,
  assign: (to: Partition) => void,
): void {
  const partition = lanes.get(lane);
  if (!partition) throw new Error(`${lane.name} has no partition`);
  const how = random.pick([
    'crashes',
    'loses its partition',
    'loses its partition and learns of it',
  ] as const);
  const goesBack = random.chance(0.2) ? random.int(3) : 0;
  partition.committed = Math.max(0, partition.committed - goesBack);
  trace.push(`${lane.name} ${how}; ${partition.name} starts again at ${partition.committed}`);
  if (how === 'loses its partition and learns of it') lane.ending.abort();
  if (how === 'crashes') crash(lane);
  assign(partition);
}

/** The positions that a process knows: it reads them from time to time, and never forgets them. */
function positionsOf({ partitions }: Scenario, reads: () => boolean): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    if (reads()) for (const one of partitions.values()) known.set(one.name, one.applied);
    return known.get(name) ?? 0;
  };
}

/** Applies the partition's records from the committed offset, and commits after each run of them. */
function work(scenario: Scenario, lane: Lane, partition: Partition): Promise<void> {
  const { schedule } = scenario;
  const store = memoryStore(scenario.data, (label) => schedule.pause(lane, label));
  const deps = engineDeps(store, {
    cache: lane.cache,
    isApplied: (kind, { partition: number, offset }) => offset < lane.positions(`${kind}/${number}`),
    signal: lane.ending.signal,
  });
  const { epoch } = partition;
  const go = async () => {
    let position = partition.committed;
    while (position < partition.changes.length) {
      const run = partition.changes.slice(position, position + 1 + schedule.random.int(runMax));
      try {
        await schedule.pause(lane, `fetch ${position} to ${position + run.length - 1}`);
        await applyChanges(deps, partition.kind, run);
      } catch (error) {
        if (error instanceof NoReply) continue;
        throw error;
      }
      position += run.length;
      partition.applied = Math.max(partition.applied, position);
      // The group refuses the commit of a worker that is no longer a member.
      await schedule.pause(lane, `commit ${position}`);
      if (partition.epoch === epoch) partition.committed = position;
      else if (schedule.random.chance(0.5)) return;
    }
  };
  const done = go().catch((error: Error) => {
    if (!lane.isDead && !lane.ending.signal.aborted) throw error;
  });
  scenario.running.add(done);
  return done;
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

/** Parses an event once for all schedules; no code alters a change. */
function toChange(event: Event, position: Change['position']): Change {
  const key = `${position.partition}/${position.offset}/${position.timestampMs}`;
  const known = parsed.get(event) ?? new Map<string, Change>();
  parsed.set(event, known);
  const before = known.get(key);
  if (before) return before;
  const change = changeAt(event, position);
  known.set(key, change);
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
