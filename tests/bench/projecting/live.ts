import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { kinds } from '../../../shared/documents/document.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { logEnds } from '../../support/progress.ts';
import type { Service } from '../../../infra/service.ts';
import { withScratch, type BenchEnvironment, type Scratch } from '../environment.ts';
import { percentile } from '../figures.ts';
import { atRate } from '../load.ts';
import { appliedTo, startProjector } from '../processes.ts';
import { createTraffic, partitionsPerTopic, type Published, type Sample } from '../publish.ts';
import type { Column } from '../report.ts';
import { measure } from '../usage.ts';

/** One run at one event rate, on a projector that follows live. */
type LiveRun = {
  eventsPerSecond: number;
  /** The measured number of events published in a second. */
  published: number;
  /** Time from publication until readable in the store, in milliseconds, of the sampled events. */
  latenciesMs: number[];
  /** Sampled events that were not readable even after all were recorded as applied. */
  unseen: number;
};

/** One projector that follows live at several rates, then is idle. */
export type FollowRun = {
  rates: LiveRun[];
  /** Share of one core without traffic. */
  idlePercent: number;
  partitions: number;
  peakMegabytes: number;
};

type FollowOptions = { rates: readonly number[]; secondsPerRate: number; idleSeconds: number };

const tickMs = 20;
/** Pause after the traffic, until its follow-up work is done. */
const cooldownMs = 3_000;

/**
 * A projector loads the dataset. Then new messages and updates of tickets and conversations are published at each rate in
 * turn, and at last the projector is idle. The topics hold more records afterwards: no other contender may share them.
 */
export const runLive = (
  environment: BenchEnvironment,
  published: Published,
  { rates, secondsPerRate, idleSeconds }: FollowOptions,
): Promise<FollowRun> =>
  withScratch(environment, async (scratch) => {
    const projector = startProjector(environment, scratch.name, published.prefix);
    try {
      await appliedTo(scratch.control, published.ends, projector);
      const runRate = rateRunner(environment, published, scratch, projector);
      const runs: LiveRun[] = [];
      for (const eventsPerSecond of rates) runs.push(await runRate(eventsPerSecond, secondsPerRate));
      await sleep(cooldownMs);
      const idle = await measure(projector, () => sleep(idleSeconds * 1_000));
      return {
        rates: runs,
        idlePercent: (idle.processorSeconds / idle.seconds) * 100,
        partitions: kinds.length * partitionsPerTopic,
        peakMegabytes: idle.peakMegabytes,
      };
    } finally {
      await projector.stop();
    }
  });

function rateRunner(
  { admin, producer }: BenchEnvironment,
  published: Published,
  { control, database }: Scratch,
  projector: Service,
) {
  const publishLive = createTraffic(producer, published);
  return async (eventsPerSecond: number, seconds: number): Promise<LiveRun> => {
    const watch = watchReadable(database);
    const startMs = performance.now();
    let events = 0;
    const isOver = (done: number) => done >= eventsPerSecond * seconds;
    await atRate(eventsPerSecond, tickMs, isOver, async (due) => {
      // One event of each request is sampled: enough for a p99, and few enough not to add load.
      watch.add(await publishLive(due));
      events += due;
    });
    const tookSeconds = (performance.now() - startMs) / 1_000;
    await appliedTo(control, await logEnds(admin, published.topics), projector);
    return { eventsPerSecond, published: events / tookSeconds, ...(await watch.finish()) };
  };
}

/** The time between two queries. A latency is too long by this and the time of a query, at most. */
const pollMs = 10;
/** The maximum number of samples in one query, the oldest first. */
const samplesMax = 200;

/**
 * Polls the store for samples, collection by collection, and measures when a reader first sees their version or a later
 * one. It sends no query while no sample waits.
 */
function watchReadable(database: Db) {
  const waiting = new Set<Sample>();
  const latenciesMs: number[] = [];
  let isOver = false;
  const query = async (max: number) => {
    for (const [kind, samples] of Map.groupBy(waiting, (sample) => sample.kind)) {
      const queried = samples.slice(0, max);
      const found = await collectionOf(database, kind)
        .find({ _id: { $in: queried.map(({ id }) => id) } }, { projection: { version: 1 } })
        .toArray();
      const seenMs = performance.now();
      const versions = new Map(found.map(({ _id, version }) => [_id, version]));
      for (const sample of queried) {
        if ((versions.get(sample.id) ?? 0) < sample.version) continue;
        waiting.delete(sample);
        latenciesMs.push(seenMs - sample.publishedMs);
      }
    }
  };
  const watch = async () => {
    for (; !isOver; await sleep(pollMs)) await query(samplesMax);
  };
  const watching = watch();
  // `finish` throws the error of a failed query.
  watching.catch(() => undefined);
  return {
    add: (sample: Sample): void => void waiting.add(sample),
    /** Queries a last time; returns the latencies and the number of unreadable samples. Call it once every event is applied. */
    finish: async () => {
      isOver = true;
      await watching;
      await query(Infinity);
      return { latenciesMs, unseen: waiting.size };
    },
  };
}

/** The figures of each rate, for a table. */
export const liveColumns: Column<LiveRun>[] = [
  { title: 'published/s', figure: ({ published }) => published },
  { title: 'readable after, p50 ms', figure: ({ latenciesMs }) => percentile(latenciesMs, 0.5) },
  { title: 'p99 ms', figure: ({ latenciesMs }) => percentile(latenciesMs, 0.99) },
  { title: 'sampled', isTotal: true, figure: ({ latenciesMs }) => latenciesMs.length },
  { title: 'unseen', isTotal: true, figure: ({ unseen }) => unseen },
];
