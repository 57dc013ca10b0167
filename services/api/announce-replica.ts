import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Db } from 'mongodb';
import type { Gauge } from 'prom-client';
import { servedVersions } from '../../shared/control/generations.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { announceIntervalMs, replicasOf } from '../../shared/control/replicas.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { release } from '../../shared/runtime/release.ts';
import { repeat } from '../../shared/runtime/repeat.ts';
import { storeTime } from '../../shared/store/clock.ts';
import type { Counts } from './counts.ts';
import { serverTimeoutMs } from './store/deadline.ts';
import type { ReadSnapshots } from './store/read-snapshot.ts';

/** The store ends each command before the driver would drop its connection. */
const limits = { maxTimeMS: serverTimeoutMs };

/** Each replica removes announcements older than this when it starts, in milliseconds. */
const keptForMs = 3_600_000;

type Deps = {
  control: Db;
  snapshots: ReadSnapshots;
  /** The requests in progress, by the generation that each of them reads. */
  generationsInUse: Pick<Counts<number>, 'entries'>;
  logger: Logger;
  now: () => Date;
  metrics: { generation: Gauge; dataAge: Gauge; logGap: Gauge };
};

/**
 * Announces every two seconds which generation this replica serves, as requests and the readiness poll have found it,
 * and which ones its requests in progress read. So a promotion can wait until every replica serves the new one, and a
 * drop until no request reads the old one. It also shows whether the log of the served generation has a gap: a
 * projector that finds one exits, so its own metrics cannot tell. A failure costs no request.
 */
export function announceReplica({ control, snapshots, generationsInUse, logger, now, metrics }: Deps) {
  const _id = randomUUID();
  const replicas = replicasOf(control);
  let hasFailed = false;
  const showLogGap = async (generation: number) => {
    const [first] = await readLogGaps(control, generation, limits);
    metrics.logGap.set(first ? first.at.getTime() / 1_000 : 0);
  };
  const announce = async () => {
    const generation = snapshots.lastGeneration();
    metrics.generation.set(generation ?? 0);
    // Before the first read the age would be that of 1970, and each new replica would break the objective of freshness.
    if (generation !== null)
      metrics.dataAge.set((now().getTime() - snapshots.lastDataAsOf().getTime()) / 1_000);
    const announced = {
      host: hostname(),
      pid: process.pid,
      release,
      versions: servedVersions,
      generation,
      inProgress: generationsInUse.entries().map(([generation, requests]) => ({ generation, requests })),
    };
    const update = { $set: announced, $currentDate: { at: true as const } };
    await replicas.updateOne({ _id }, update, { upsert: true, ...limits });
    if (hasFailed) logger.info('this replica is announced again');
    hasFailed = false;
    // A slow read must not delay the next announcement. The API logs and counts the errors of MongoDB elsewhere.
    if (generation !== null) void showLogGap(generation).catch(() => undefined);
  };
  const cleanUp = async () => {
    const oldest = (await storeTime(control, limits)).getTime() - keptForMs;
    await replicas.deleteMany({ at: { $lt: new Date(oldest) } }, limits);
  };
  const announcing = repeat(announce, {
    intervalMs: announceIntervalMs,
    onError: (error) => {
      if (!hasFailed)
        logger.warn(
          { reason: errorMessage(error) },
          'cannot announce this replica; a promotion will not wait for it',
        );
      hasFailed = true;
    },
  });
  void cleanUp().catch(() => undefined);
  return {
    stop: async () => {
      await announcing.stop();
      await replicas.deleteOne({ _id }, limits).catch(() => undefined);
    },
  };
}
