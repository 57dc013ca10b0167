import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from 'kafkajs';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { topicOf } from '../../../services/projector/events/topics.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { logEnds } from '../../support/progress.ts';
import { createRandom } from '../../support/random.ts';
import type { Service } from '../../support/service.ts';
import { processorSeconds } from '../processor-time.ts';
import { recordOf, type Dataset } from '../dataset.ts';
import { withScratch, type BenchEnvironment, type Scratch } from '../environment.ts';
import { appliedTo, startProjectorProcess } from './projector.ts';
import { partitionOf, partitionsPerTopic, type Published } from '../publish.ts';
import { watchReadable, type Sample } from './readable.ts';

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

export type FollowOptions = { rates: readonly number[]; secondsPerRate: number; idleSeconds: number };

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
    const projector = startProjectorProcess(environment, scratch.name, published.prefix);
    const { pid } = projector;
    try {
      await appliedTo(scratch.control, published.ends, projector);
      const nextEvent = createTraffic(published.dataset);
      const follow = { ...environment, scratch, projector, published, nextEvent, secondsPerRate };
      const runs: FollowRun['rates'] = [];
      for (const eventsPerSecond of rates) {
        runs.push(await runRate(follow, eventsPerSecond));
      }
      await sleep(cooldownMs);
      const before = { ms: performance.now(), processor: processorSeconds(pid) };
      await sleep(idleSeconds * 1_000);
      const idleMs = performance.now() - before.ms;
      return {
        rates: runs,
        idlePercent: ((processorSeconds(pid) - before.processor) / (idleMs / 1_000)) * 100,
        partitions: kinds.length * partitionsPerTopic,
        peakMegabytes: peakMegabytes(projector),
      };
    } finally {
      await projector.stop();
    }
  });

export type LiveEvent = { kind: Kind; id: string; version: number; record: ReturnType<typeof recordOf> };

/** Three of five events are new messages; the others update a ticket or a conversation. */
export function createTraffic(dataset: Dataset): () => LiveEvent {
  const random = createRandom(dataset.seed + 1);
  const versions = new Map<string, number>();
  let messages = dataset.counts.message;
  return () => {
    const kind = random.pick(['message', 'message', 'message', 'ticket', 'conversation'] as const);
    const number = kind === 'message' ? messages++ : random.int(dataset.counts[kind]);
    const version = kind === 'message' ? 1 : (versions.get(`${kind}/${number}`) ?? 1) + 1;
    versions.set(`${kind}/${number}`, version);
    const event = dataset.event(kind, number, version, new Date());
    return { kind, id: event.id, version, record: recordOf(event) };
  };
}

type Follow = BenchEnvironment & {
  scratch: Scratch;
  projector: Service;
  published: Published;
  nextEvent: () => LiveEvent;
  secondsPerRate: number;
};

async function runRate(follow: Follow, eventsPerSecond: number): Promise<LiveRun> {
  const { admin, scratch, projector, published, secondsPerRate } = follow;
  const samples: Sample[] = [];
  const watch = watchReadable(scratch.database);
  const startMs = performance.now();
  let events = 0;
  while (events < eventsPerSecond * secondsPerRate) {
    const due = Math.floor(((performance.now() - startMs) / 1_000) * eventsPerSecond) - events;
    if (due > 0) {
      // One event of each request is sampled: enough for a p99, and few enough not to add load.
      const sample = await publishLive(follow, due);
      samples.push(sample);
      watch.add(sample);
      events += due;
    }
    await sleep(tickMs);
  }
  const seconds = (performance.now() - startMs) / 1_000;
  await appliedTo(scratch.control, await logEnds(admin, published.topics), projector);
  const unseen = await watch.finish();
  return {
    eventsPerSecond,
    published: events / seconds,
    latenciesMs: samples.flatMap(({ latencyMs }) => latencyMs ?? []),
    unseen,
  };
}

/** Publishes events in one request; returns one of them as a sample, with the time before the request. */
export async function publishLive(
  { producer, published, nextEvent }: Pick<Follow, 'producer' | 'published' | 'nextEvent'>,
  count: number,
): Promise<Sample> {
  const events = Array.from({ length: count }, nextEvent);
  const byTopic = new Map<string, Message[]>();
  for (const { kind, record } of events) {
    const topic = topicOf(kind, published.prefix);
    const partition = partitionOf(record.key);
    byTopic.set(topic, [...(byTopic.get(topic) ?? []), { ...record, partition }]);
  }
  const { kind, id, version } = events[Math.floor(count / 2)] ?? { kind: 'message', id: '', version: 1 };
  const publishedMs = performance.now();
  const topicMessages = [...byTopic].map(([topic, messages]) => ({ topic, messages }));
  await producer.sendBatch({ topicMessages });
  return { kind, id, version, publishedMs, latencyMs: null };
}
