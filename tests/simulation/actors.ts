import type { UpdateDeps } from '../../services/projector/materialize/fan-out.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { applyChanges, engineDeps } from '../support/engine.ts';
import type { DeadLetter, Partition } from './log.ts';
import { type Data, memoryStore, readWhole } from './memory-store.ts';
import { memorySweepStore } from './memory-sweep-store.ts';
import type { Oplog } from './oplog.ts';
import { createWorker, retried, type Schedule, type Worker } from './schedule.ts';
import { type LaterEdge, type repairSome, withoutEdge } from './verifier.ts';

export type Simulation = {
  schedule: Schedule;
  data: Data;
  oplog: Oplog;
  partitions: Map<string, Partition>;
  deadLetters: Set<DeadLetter>;
  /** Lets another worker take over from one that crashes or loses its partition. */
  successors: Map<Worker, () => void>;
  running: Set<Promise<void>>;
  startMs: number;
  interruptsFanOuts: boolean;
  failsOver: boolean;
  /** The edge that the running release lacks; null once every worker runs the present release. */
  missingEdge: LaterEdge | null;
};

/** The engine's dependencies for one worker. */
export function depsOf(simulation: Simulation, worker: Worker, overrides: Partial<UpdateDeps>): UpdateDeps {
  const { data, oplog, schedule, startMs, missingEdge } = simulation;
  const store = memoryStore(data, (label) => schedule.pause(worker, label), oplog);
  return engineDeps(missingEdge ? withoutEdge(store, missingEdge) : store, {
    now: () => new Date(startMs + schedule.trace.length),
    signal: worker.ending.signal,
    ...overrides,
  });
}

/** Runs the work of an actor. If the schedule crashes its worker, `succeed` starts a successor. */
export function act(
  simulation: Simulation,
  worker: Worker,
  work: () => Promise<void>,
  succeed: () => void,
): void {
  simulation.successors.set(worker, succeed);
  const ended = work().catch((error: Error) => {
    if (!worker.isDead && !worker.ending.signal.aborted) throw error;
  });
  simulation.running.add(ended);
}

/** An operator's redrive beside the workers: each time, it redrives some dead letters of one kind. */
export function redriver(simulation: Simulation, times: number): () => void {
  const { schedule, deadLetters } = simulation;
  const start = () => {
    const worker = createWorker('redrive', () => 0);
    const deps = depsOf(simulation, worker, { isApplied: () => false, outOfOrder: true });
    const redrive = async () => {
      for (let count = 0; count < times; count += 1) {
        if (times === Infinity && deadLetters.size === 0) return;
        await retried(() => schedule.pause(worker, 'redrive'));
        const [first] = deadLetters;
        const chosen = [...deadLetters]
          .filter(({ kind }) => kind === first?.kind)
          .filter((deadLetter) => deadLetter === first || schedule.random.chance(0.7));
        if (!first) continue;
        const inLogOrder = chosen.map(({ change }) => change).sort(byPosition);
        await retried(() => applyChanges(deps, first.kind, inLogOrder));
        for (const deadLetter of chosen) deadLetters.delete(deadLetter);
      }
    };
    act(simulation, worker, redrive, start);
  };
  return start;
}

type Positioned = DeadLetter['change'];
const byPosition = ({ position: a }: Positioned, { position: b }: Positioned) =>
  a.partition - b.partition || a.offset - b.offset;

/**
 * Sweeps twice, the first time completely, as of the watermark: the earliest time of a record that no worker has
 * applied yet.
 */
export function sweeper(simulation: Simulation): () => void {
  const { schedule, data, oplog, deadLetters, partitions } = simulation;
  const start = () => {
    const worker = createWorker('sweep', () => 0);
    const deps = depsOf(simulation, worker, {});
    const pause = (label: string) => schedule.pause(worker, label);
    const sweepStore = memorySweepStore(data, deadLetters, pause, { oplog });
    const sweepOnce = (isComplete: boolean) => {
      const notApplied = [...partitions.values()].flatMap(({ records, applied }) => records.slice(applied));
      const asOfMs = Math.min(simulation.startMs, ...notApplied.map(({ time }) => time.getTime()));
      return sweep({ ...deps, sweepStore, isComplete, asOf: new Date(asOfMs) });
    };
    const sweepTwice = async () => {
      for (const isComplete of [true, false]) await retried(() => sweepOnce(isComplete));
    };
    act(simulation, worker, sweepTwice, start);
  };
  return start;
}

/** An operator's repair, beside the workers. It begins again if it is interrupted. */
export function verifier(simulation: Simulation, repair: typeof repairSome): () => void {
  const { schedule, data } = simulation;
  const start = () => {
    const worker = createWorker('repair', () => 0);
    const pause = (label: string) => schedule.pause(worker, label);
    const deps = { ...depsOf(simulation, worker, {}), readDocuments: readWhole(data, pause) };
    act(simulation, worker, () => retried(() => repair(deps, data, schedule.random)), start);
  };
  return start;
}
