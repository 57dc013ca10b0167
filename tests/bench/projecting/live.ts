import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { collectionOf } from '../../../shared/store/connection.ts';
import { logEnds } from '../../support/progress.ts';
import { withScratch, type BenchEnvironment } from '../environment.ts';
import { serviceSettings } from '../processes.ts';
import { createTraffic, type Published, type Sample } from '../publish.ts';
import { appliedTo, startProjector } from './contenders.ts';

/** The time from publication until readable in the store, in milliseconds, of sampled events. */
export type LiveRun = { eventsPerSecond: number; latenciesMs: number[] };

const tickMs = 20;

/**
 * A projector loads the dataset. Then new messages and updates of tickets and conversations are published at a constant
 * rate. The topics hold more records afterwards: no other contender may share them.
 */
export const runLive = (
  environment: BenchEnvironment,
  published: Published,
  { eventsPerSecond, seconds }: { eventsPerSecond: number; seconds: number },
): Promise<LiveRun> =>
  withScratch(environment, async ({ name, control, database }) => {
    const projector = startProjector(serviceSettings(environment, name, published.prefix));
    try {
      await appliedTo(control, projector, published.ends);
      const publishLive = createTraffic(environment.producer, published);
      const watch = watchReadable(database);
      const startMs = performance.now();
      for (let sent = 0; sent < eventsPerSecond * seconds; await sleep(tickMs)) {
        const due = Math.floor(((performance.now() - startMs) / 1_000) * eventsPerSecond) - sent;
        // One event of each request is sampled: enough for a p99, and few enough not to add load.
        if (due > 0) watch.add(await publishLive(due));
        sent += due;
      }
      await appliedTo(control, projector, await logEnds(environment.admin, published.topics));
      return { eventsPerSecond, latenciesMs: await watch.finish() };
    } finally {
      await projector.stop();
    }
  });

/** The time between two queries. A latency is too long by this and the time of a query, at most. */
const pollMs = 10;
/** The maximum number of samples in one query, the oldest first. */
const samplesMax = 200;

/** Polls the store for samples, and measures when a reader first sees their version or a later one. */
function watchReadable(database: Db) {
  const waiting = new Set<Sample>();
  const latenciesMs: number[] = [];
  let isOver = false;
  const query = async (max: number) => {
    for (const [kind, samples] of Map.groupBy(waiting, (sample) => sample.kind)) {
      const queried = samples.slice(0, max);
      const ids = queried.map(({ id }) => id);
      const found = await collectionOf(database, kind)
        .find({ _id: { $in: ids } }, { projection: { version: 1 } })
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
    /** Queries a last time. Call it once every event is applied. */
    finish: async (): Promise<number[]> => {
      isOver = true;
      await watching;
      await query(Infinity);
      if (waiting.size > 0) throw new Error(`${waiting.size} events are not readable although applied`);
      return latenciesMs;
    },
  };
}
