import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import { servedVersions } from '../../../shared/store/generations.ts';
import { announceIntervalMs, replicasOf } from '../../../shared/store/replicas.ts';
import { serverTimeoutMs } from './deadline.ts';
import type { ReadSnapshots } from './read-snapshot.ts';

/** The store ends each command before the driver would drop its connection. */
const limits = { maxTimeMS: serverTimeoutMs };

/** Announcements older than this are removed by whoever announces, in milliseconds. */
const keptForMs = 3_600_000;

/**
 * Announces every two seconds which generation this replica serves, as requests and the readiness poll have found it. So
 * a promotion can wait until every replica serves the new one, and a drop until none serves the old one. A failure costs
 * no request.
 */
export function announceReplica({
  control,
  snapshots,
  logger,
  now,
  onGeneration,
}: {
  control: Db;
  snapshots: ReadSnapshots;
  logger: Logger;
  now: () => Date;
  /** Receives the served generation and the age of its data, in seconds. */
  onGeneration: (generation: number | null, ageSeconds: number) => void;
}): { stop: () => Promise<void> } {
  const _id = randomUUID();
  const replicas = replicasOf(control);
  let hasFailed = false;
  const announce = async () => {
    const at = now();
    onGeneration(snapshots.lastGeneration(), (at.getTime() - snapshots.lastDataAsOf().getTime()) / 1_000);
    const announced = {
      ...{ host: hostname(), pid: process.pid, generation: snapshots.lastGeneration() },
      ...{ versions: servedVersions, at },
    };
    await replicas.updateOne({ _id }, { $set: announced }, { upsert: true, ...limits });
    if (hasFailed) logger.info('this replica is announced again');
    hasFailed = false;
  };
  const cleanUp = () => replicas.deleteMany({ at: { $lt: new Date(now().getTime() - keptForMs) } }, limits);
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
