import type { Db } from 'mongodb';
import type { Gauge } from 'prom-client';
import { servedVersions } from '../../shared/control/generations.ts';
import { type AnnouncedEntry, createHeartbeat } from '../../shared/control/heartbeat.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import type { Replica } from '../../shared/control/processes.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { Counts } from './counts.ts';
import { serverTimeoutMs } from './store/deadline.ts';
import type { ReadSnapshots } from './store/read-snapshot.ts';

/** MongoDB ends a read of the gaps before the driver would give up and drop the connection. */
const limits = { maxTimeMS: serverTimeoutMs };

type AnnounceReplicaDeps = {
  control: Db;
  snapshots: ReadSnapshots;
  /** The requests in progress, by the generation that each of them reads. */
  generationsInUse: Pick<Counts<number>, 'entries'>;
  logger: Logger;
  now: () => Date;
  metrics: { generation: Gauge; dataAge: Gauge; logGap: Gauge };
};

/**
 * Announces every two seconds the generation that this replica serves, and the generations that its requests in
 * progress read. So a promotion can wait until every replica serves the new generation, and a drop until no request
 * reads the old one. A metric shows a gap in the log of the served generation: a projector that finds a gap exits, and
 * its own metrics end with it. If MongoDB does not take the announcement, no request fails.
 */
export function announceReplica(deps: AnnounceReplicaDeps) {
  const { control, snapshots, generationsInUse, logger, now, metrics } = deps;
  const showLogGap = async (generation: number) => {
    const [first] = await readLogGaps(control, generation, limits);
    metrics.logGap.set(first ? first.at.getTime() / 1_000 : 0);
  };
  const onBeat = () => {
    const generation = snapshots.lastGeneration();
    metrics.generation.set(generation ?? 0);
    // Before the first read the age would count from 1970, and each new replica would break the objective of freshness.
    if (generation === null) return;
    metrics.dataAge.set((now().getTime() - snapshots.lastDataAsOf().getTime()) / 1_000);
    // A slow read must not delay the announcement. The API logs and counts the errors of MongoDB elsewhere.
    void showLogGap(generation).catch(() => undefined);
  };
  const read = (): AnnouncedEntry<Replica> => ({
    role: 'api',
    state: 'running',
    reason: null,
    generation: snapshots.lastGeneration(),
    inProgress: generationsInUse.entries().map(([generation, requests]) => ({ generation, requests })),
    versions: servedVersions,
  });
  const heartbeat = createHeartbeat({ control, read, onBeat, logger });
  heartbeat.begin();
  return { stop: () => heartbeat.end('ended', null) };
}
