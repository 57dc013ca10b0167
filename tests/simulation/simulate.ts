import { isDeepStrictEqual } from 'node:util';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { fold } from '../convergence/fold.ts';
import { encode, type Event } from '../support/events.ts';
import { emptyData, memoryStore, type Data } from './memory-store.ts';
import { comparable } from '../convergence/read-documents.ts';
import { createLane, createSchedule, NoReply, type Lane, type Schedule } from './schedule.ts';

/** What differed from the fold, by id, and the steps that led there; null where all is equal. */
export type Failure = { differing: Record<string, { expected: unknown; actual: unknown }>; trace: string[] };

/**
 * A partition of the log: what it holds, up to where anyone has applied it in full, what is committed of it, and how
 * often it was assigned.
 */
type Partition = {
  kind: Kind;
  name: string;
  changes: Change[];
  applied: number;
  committed: number;
  epoch: number;
};

type World = {
  schedule: Schedule;
  data: Data;
  partitions: Map<string, Partition>;
  running: Set<Promise<void>>;
};

const partitionsPerTopic = 2;
/** Records that one step of a worker takes, at most. */
const runMax = 4;

/**
 * Runs the engine over a history under one seeded schedule: a worker a partition, each of whose steps the
 * schedule orders, fails or crashes, and whose partition it hands to another while the first still works.
 */
export async function simulate(history: Event[], seed: number): Promise<Failure | null> {
  const schedule = createSchedule(seed);
  const partitions = partition(history);
  const world: World = { schedule, data: emptyData(), partitions, running: new Set() };
  const lanes = new Map<Lane, Partition>();
  const assign = (to: Partition) => {
    to.epoch += 1;
    const lane = createLane(
      `${to.name}#${to.epoch}`,
      positionsOf(world, () => schedule.random.chance(0.3)),
    );
    lanes.set(lane, to);
    void work(world, lane, to);
  };
  for (const one of partitions.values()) assign(one);
  await schedule.drive((lane) => disturb(schedule, lane, lanes, assign));
  await Promise.all(world.running);
  const differing = differences(fold(history), world.data);
  return Object.keys(differing).length > 0 ? { differing, trace: schedule.trace } : null;
}

/** The worker crashes; or it loses its partition, noticing or not; or the group's place is set back as well. */
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

/** What a process knows of how far partitions are applied: it looks now and then, and never forgets. */
function positionsOf({ partitions }: World, looks: () => boolean): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    if (looks()) for (const one of partitions.values()) known.set(one.name, one.applied);
    return known.get(name) ?? 0;
  };
}

/** Applies the partition's records from the committed place, and commits after each run of them. */
function work(world: World, lane: Lane, partition: Partition): Promise<void> {
  const { schedule } = world;
  const store = memoryStore(world.data, (label) => schedule.pause(lane, label));
  const deps = {
    store,
    cache: lane.cache,
    now: () => new Date(0),
    tombstoneDays: 30,
    isApplied: (kind: Kind, { partition: number, offset }: Change['position']) =>
      offset < lane.positions(`${kind}/${number}`),
    onNotRefreshed: () => undefined,
    onProgress: () => undefined,
    signal: lane.ending.signal,
  };
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
  world.running.add(done);
  return done;
}

/** Spreads a history over partitions by key, as a producer does, in its order. */
function partition(history: Event[]): Map<string, Partition> {
  const partitions = new Map<string, Partition>();
  history.forEach((event, index) => {
    const number =
      [...event.id].reduce((sum, deadLetter) => sum + deadLetter.charCodeAt(0), 0) % partitionsPerTopic;
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

/** Parsed once for all the schedules that an event goes through; a change is never altered. */
function toChange(event: Event, position: Change['position']): Change {
  const at = `${position.partition}/${position.offset}/${position.timestampMs}`;
  const known = parsed.get(event) ?? new Map<string, Change>();
  parsed.set(event, known);
  const before = known.get(at);
  if (before) return before;
  const { key, value, headers } = encode(event, 'structured');
  const record = {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers,
    position,
  };
  const result = parse(event.kind, record);
  if ('rejected' in result) throw new Error(`the history holds a bad record: ${result.rejected.detail}`);
  known.set(at, result.change);
  return result.change;
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
