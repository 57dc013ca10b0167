import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import {
  generationOf,
  NoSuchGeneration,
  readRegistry,
  type Generation,
} from '../../../shared/store/generations.ts';
import { watermark } from '../../../shared/store/progress.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import type { Positions } from '../consumer/positions.ts';
import { recordedPositions } from '../consumer/progress.ts';
import { isFollowed, secondsBehind } from './freshness.ts';
import { loadEndsOf, changeRegistry, advance, recordMaxLag } from './registry.ts';
import type { Metrics } from '../metrics.ts';
import type { Throttle } from './throttle.ts';
import { readTombstoneBound, recordedStep, tombstoneWarning } from './tombstones.ts';

export type FollowDeps = {
  control: Db;
  generation: number;
  throttle: Pick<Throttle, 'set'>;
  positions: Pick<Positions, 'load'>;
  /** The lateness allowance, by which every watermark lags. */
  allowanceMs: number;
  metrics: Pick<Metrics, 'longestLag'>;
  logger: Logger;
  /** The time of the store. */
  now: () => Promise<Date>;
  by: string;
  /** The generation was dropped: the process must exit. */
  onFatal: (error: Error) => void;
};

/** A build is ready once it is behind by less than this, in seconds. */
export const readyWithinSeconds = 10;

/** Tells the workers how to apply records to a generation. A build leaves room for readers while it loads. */
export function applyGenerationSettings(
  { throttle, positions }: Pick<FollowDeps, 'throttle' | 'positions'>,
  own: Generation,
  oneAtATime = own.state === 'building',
): void {
  positions.load(loadEndsOf(own));
  throttle.set({ pace: own.pace, oneAtATime });
}

/**
 * Follows the decisions of operators about the generation of this projector: once a second it reads the registry, ends if
 * the generation was dropped, applies its pace, and records how far a build has come.
 */
export function followRegistry(deps: FollowDeps, intervalMs = 1_000): Pick<Repeating, 'stop'> {
  const { control, generation: number, logger } = deps;
  const poll = async () => {
    const registry = await readRegistry(control, { projection: { history: 0 } });
    if (!registry) return;
    try {
      const own = generationOf(registry, number);
      // More room does not help an active generation without projectors.
      const leavesRoom =
        own.state === 'building' && (await isFollowed(control, registry.generation, await deps.now()));
      applyGenerationSettings(deps, own, leavesRoom);
      await recordLag(deps, own);
      await advanceBuild(deps, own);
    } catch (error) {
      if (!(error instanceof NoSuchGeneration)) throw error;
      deps.onFatal(new NoSuchGeneration(`${error.message}; this projector ends`));
    }
  };
  return repeat(poll, {
    intervalMs,
    onError: (error) => logger.warn({ error }, 'could not read the registry of generations; trying again'),
  });
}

type LagDeps = Pick<FollowDeps, 'control' | 'allowanceMs' | 'metrics' | 'now'>;

const behindSeconds = async ({ control, allowanceMs, now }: LagDeps, number: number): Promise<number> =>
  secondsBehind((await watermark(control, number)) ?? new Date(0), await now(), allowanceMs);

async function advanceBuild(deps: FollowDeps, own: Generation): Promise<void> {
  const { control, by, now, logger } = deps;
  const loadEnds = loadEndsOf(own);
  if (loadEnds && (await hasReached(control, own.number, loadEnds))) {
    const cause = { by, at: await now(), why: 'every record of the log at the start is applied' };
    await changeRegistry(control, advance(own.number, 'building', 'catching-up', cause));
    logger.info({ generation: own.number }, 'loaded; catching up');
  }
  if (own.state === 'catching-up' && (await behindSeconds(deps, own.number)) <= readyWithinSeconds) {
    const cause = { by, at: await now(), why: `behind by ${readyWithinSeconds} s or less` };
    await changeRegistry(control, advance(own.number, 'catching-up', 'ready', cause));
    logger.info({ generation: own.number }, 'ready to be compared and promoted');
  }
}

/** A lag of this many seconds can matter to tombstones. */
const recordedFromSeconds = 60;

/** Records the lag of a generation, if it is longer than before. A build loads records that are older than itself. */
async function recordLag(deps: LagDeps, own: Generation): Promise<number> {
  const { control, metrics } = deps;
  const sinceRegistered = ((await deps.now()).getTime() - own.registeredAt.getTime()) / 1_000;
  const seconds = Math.round(Math.min(sinceRegistered, await behindSeconds(deps, own.number)));
  const recorded = own.longestBehindSeconds ?? 0;
  const isLonger = seconds >= Math.max(recordedFromSeconds, recorded * recordedStep);
  if (isLonger) await changeRegistry(control, recordMaxLag(own.number, seconds));
  metrics.longestLag.set(isLonger ? seconds : recorded);
  return isLonger ? seconds : recorded;
}

/**
 * Records at the start of a projector for how long none has run, and logs it if tombstones may have been missed. The Kafka
 * user may lack the right to read how long they are kept; then nothing is logged.
 */
export async function recordAbsence(
  deps: LagDeps & Pick<FollowDeps, 'logger'> & { admin: Admin; topics: string[] },
  own: Generation,
): Promise<void> {
  const longestBehindSeconds = await recordLag(deps, own);
  const bound = await readTombstoneBound(deps.admin, deps.topics).catch(() => null);
  const completeTo = await watermark(deps.control, own.number);
  const reason = tombstoneWarning({ ...own, longestBehindSeconds }, completeTo, bound, await deps.now());
  if (reason) deps.logger.error({ reason }, 'deletions may have been missed; build another generation');
}

async function hasReached(control: Db, number: number, ends: ReadonlyMap<string, number>): Promise<boolean> {
  const positions = await recordedPositions(control, number);
  return [...ends].every(([key, end]) => (positions.get(key) ?? 0) >= end);
}
