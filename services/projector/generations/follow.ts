import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import {
  type Generation,
  generationOf,
  NoSuchGeneration,
  readRegistry,
} from '../../../shared/control/generations.ts';
import { isFollowed, lagSeconds, readWatermark } from '../../../shared/control/progress.ts';
import {
  advance,
  changeRegistry,
  loadEnds,
  storeLongestLag,
  storeStart,
} from '../../../shared/control/registry.ts';
import { readTopicSettings } from '../../../shared/kafka/topic-settings.ts';
import { logChanges } from '../../../shared/runtime/log-changes.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type RepeatedRun, type Repeating } from '../../../shared/runtime/repeat.ts';
import type { Applier } from '../apply/apply.ts';
import type { Metrics } from '../metrics.ts';
import type { Positions } from '../partition/positions.ts';
import { readSavedPositions } from '../progress/progress.ts';
import { lagToRecord, tombstoneBound, tombstoneWarning } from './tombstones.ts';

type FollowDeps = {
  control: Db;
  generation: number;
  applier: Pick<Applier, 'setOneAtATime'>;
  positions: Pick<Positions, 'setLoadEnds'>;
  /** The lateness allowance, by which every watermark lags. */
  allowanceMs: number;
  metrics: Pick<Metrics, 'maxLag' | 'generationState'>;
  logger: Logger;
  /** MongoDB's clock. */
  now: () => Date;
  /** Host and process, for the history of the generation. */
  by: string;
  /** Called if the generation was dropped. The process must then exit. */
  onFatal: (error: Error) => void;
};

/** A build with this lag or less is ready, in seconds. */
const readyWithinSeconds = 10;

/** Sets the load ends of a generation for this process, and whether it applies one group of chunks at a time. */
export function applyGenerationSettings(
  { applier, positions }: Pick<FollowDeps, 'applier' | 'positions'>,
  ownGeneration: Generation,
  isOneAtATime = ownGeneration.state === 'building',
): void {
  positions.setLoadEnds(loadEnds(ownGeneration));
  applier.setOneAtATime(isOneAtATime);
}

/**
 * Reads the registry once a second, and ends the projector if its generation was dropped. Applies the settings of the
 * generation, records its lag, and advances the state of a build: building → catching-up → ready. Several projectors of
 * a generation do this at the same time; each change is a compare-and-set.
 */
export function followRegistry(
  deps: FollowDeps,
  { intervalMs = 1_000, stalledAfterMs = 120_000 } = {},
): Repeating {
  const { control, generation: number, logger } = deps;
  const logRegistry = logChanges(logger, 'registry', { generation: number });
  const logBuild = logChanges(logger, 'build', { generation: number });
  const poll = async ({ signal }: RepeatedRun) => {
    const registry = await readRegistry(control, { projection: { history: 0 } });
    if (!registry) return;
    try {
      const ownGeneration = generationOf(registry, number);
      // A slower build leaves MongoDB to the active generation, which needs that only while it has projectors.
      const isOneAtATime =
        ownGeneration.state === 'building' && (await isFollowed(control, registry.generation, deps.now()));
      const completeTo = await readWatermark(control, number);
      // A run that `repeat` has abandoned as stalled may end after a newer run, and must not apply its older result.
      signal.throwIfAborted();
      deps.metrics.generationState.reset();
      deps.metrics.generationState.set({ state: ownGeneration.state }, 1);
      logRegistry({
        ownGeneration: ownGeneration.state,
        active: registry.generation,
        oneAtATime: isOneAtATime,
      });
      applyGenerationSettings(deps, ownGeneration, isOneAtATime);
      await recordLag(deps, ownGeneration, completeTo);
      signal.throwIfAborted();
      await advanceBuild(deps, ownGeneration, completeTo, logBuild);
    } catch (error) {
      if (!(error instanceof NoSuchGeneration)) throw error;
      deps.onFatal(new NoSuchGeneration(`${error.message}; this projector ends`));
    }
  };
  return repeat(poll, {
    intervalMs,
    // Longer than the driver waits for a majority in a write and in its retry.
    stalledAfterMs,
    onError: (error) => logger.warn({ error }, 'could not read the registry of generations; trying again'),
  });
}

type LagDeps = Pick<FollowDeps, 'control' | 'allowanceMs' | 'metrics' | 'now'>;

/** The lag of a generation now, in seconds. */
const currentLag = ({ allowanceMs }: LagDeps, completeTo: Date | null, now: Date): number =>
  lagSeconds(completeTo ?? new Date(0), now, allowanceMs);

/** Moves a build on to its next state, if every record of the load is applied, or if the lag is short. */
async function advanceBuild(
  deps: FollowDeps,
  ownGeneration: Generation,
  completeTo: Date | null,
  logBuild: (build: { recordsToLoad: number } | { lagSeconds: number }) => void,
): Promise<void> {
  const { control, by, now, logger } = deps;
  const ends = loadEnds(ownGeneration);
  const recordsToLoad = ends === null ? null : await countRecordsTo(ends, control, ownGeneration.number);
  if (recordsToLoad !== null) logBuild({ recordsToLoad });
  if (recordsToLoad === 0) {
    const cause = { by, at: now(), why: 'every record of its load is applied' };
    await changeRegistry(control, advance(ownGeneration.number, 'building', 'catching-up', cause));
    logger.info({ generation: ownGeneration.number }, 'loaded; catching up');
  }
  if (ownGeneration.state !== 'catching-up') return;
  const seconds = Math.round(currentLag(deps, completeTo, now()));
  logBuild({ lagSeconds: seconds });
  if (seconds <= readyWithinSeconds) {
    const cause = { by, at: now(), why: `its lag is ${readyWithinSeconds} s or less` };
    await changeRegistry(control, advance(ownGeneration.number, 'catching-up', 'ready', cause));
    logger.info({ generation: ownGeneration.number }, 'ready to be compared and promoted');
  }
}

/** Records and returns the longest lag of a generation. The lag of a build begins with its start. */
async function recordLag(deps: LagDeps, ownGeneration: Generation, completeTo: Date | null): Promise<number> {
  const { control, metrics } = deps;
  const now = deps.now();
  const sinceStart = (now.getTime() - (ownGeneration.startedAt ?? now).getTime()) / 1_000;
  const seconds = Math.round(Math.min(sinceStart, currentLag(deps, completeTo, now)));
  const recorded = ownGeneration.longestBehindSeconds ?? 0;
  const longest = lagToRecord(seconds, recorded);
  if (longest > recorded) await changeRegistry(control, storeLongestLag(ownGeneration.number, longest));
  metrics.maxLag.set(longest);
  return longest;
}

/**
 * Called before a projector reads the log. Records the start of a new generation, or the lag that grew while no
 * projector ran. Returns the start. Logs an error if Kafka may have deleted tombstones during the lag, unless the Kafka
 * user may not read how long Kafka keeps them.
 */
export async function recordAbsence(
  deps: LagDeps & Pick<FollowDeps, 'generation' | 'logger'> & { admin: Admin; topics: string[] },
): Promise<Date> {
  const { control, generation: number, now } = deps;
  const completeTo = await readWatermark(control, number);
  const registry = await changeRegistry(control, storeStart(number, now()));
  const ownGeneration = generationOf(registry, number);
  const longestBehindSeconds = await recordLag(deps, ownGeneration, completeTo);
  const settings = await readTopicSettings(deps.admin, deps.topics).catch(() => []);
  const bound = tombstoneBound(settings);
  const reason = tombstoneWarning({ ...ownGeneration, longestBehindSeconds }, completeTo, bound, now());
  if (reason) deps.logger.error({ reason }, 'deletions may have been missed; build another generation');
  return ownGeneration.startedAt ?? now();
}

/** Counts the records up to the ends of a load that are not applied yet. */
async function countRecordsTo(
  ends: ReadonlyMap<string, number>,
  control: Db,
  number: number,
): Promise<number> {
  const positions = await readSavedPositions(control, number);
  return [...ends].reduce((sum, [key, end]) => sum + Math.max(0, end - (positions.get(key) ?? 0)), 0);
}
