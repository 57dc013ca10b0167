import type { Logger } from '../../shared/runtime/logger.ts';
import { createStoreClock, type StoreClock, storeTime } from '../../shared/store/clock.ts';
import { type Applier, createApplier } from './apply/apply.ts';
import type { ProjectorConfig } from './config.ts';
import { createEngine, type Engine } from './engine.ts';
import { applyGenerationSettings, recordAbsence } from './generations/follow.ts';
import type { Metrics } from './metrics.ts';
import { createPositions, type Positions } from './partition/positions.ts';
import type { ReadyServers } from './startup/wait-for-servers.ts';
import { waitUntil } from './startup/wait-until.ts';

type PrepareDeps = {
  config: ProjectorConfig;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

/** The parts of a projector before it reads its first record. */
export type PreparedProjector = {
  /** The clock of MongoDB, already read once. */
  clock: StoreClock;
  /** The lateness allowance, by which the watermark lags. */
  allowanceMs: number;
  positions: Positions;
  engine: Engine;
  /** The applier with the settings of the generation. Without them, a build would begin with records after its load. */
  applier: Applier;
  /** When the first projector of the generation was about to read the log. */
  startedAt: Date;
};

/**
 * Creates the engine that applies the records of a generation. Also records for how long no projector has run. Only the
 * old watermark shows that, so it must happen before the first commit raises the watermark.
 */
export async function prepare(deps: PrepareDeps, servers: ReadyServers): Promise<PreparedProjector> {
  const { config, metrics, logger, nowMs } = deps;
  const { control, registered, onWait } = servers;
  const generation = registered.number;
  const clock = createStoreClock(() => storeTime(control), nowMs);
  await waitUntil(onWait, clock.read);
  const { now } = clock;
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const positions = createPositions(nowMs);
  const engineDeps = { control, database: servers.database, generation, now, positions, metrics, logger };
  const engine = createEngine(engineDeps, config);
  const applier = createApplier(engine, metrics);
  applyGenerationSettings({ positions, applier }, registered);
  const { admin } = servers.brokers;
  const absenceDeps = { control, generation, allowanceMs, now, metrics, logger, admin, topics: deps.topics };
  const startedAt = await waitUntil(onWait, () => recordAbsence(absenceDeps));
  return { clock, allowanceMs, positions, engine, applier, startedAt };
}
