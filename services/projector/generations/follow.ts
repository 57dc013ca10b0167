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
import { loadEndsOf } from './load-ends.ts';
import { changeRegistry } from './registry.ts';
import type { Demand, Throttle } from './throttle.ts';
import { advance, isBuild, wasBehind } from './transitions.ts';

export type FollowDeps = {
  control: Db;
  generation: number;
  throttle: Throttle;
  positions: Pick<Positions, 'load'>;
  /** The lateness allowance, by which every watermark lags. */
  allowanceMs: number;
  logger: Logger;
  /** The time of the store. */
  now: () => Promise<Date>;
  by: string;
  /** The generation was dropped: the process must exit. */
  onFatal: (error: Error) => void;
};

/** A build is ready once it is behind by less than this, in seconds. */
export const readyWithinSeconds = 10;
/** A build works half the time while the active generation is behind by more than this, in seconds. */
const yieldAfterSeconds = 30;

/** Tells the workers what is asked of a generation. */
export function steer(
  { throttle, positions }: Pick<FollowDeps, 'throttle' | 'positions'>,
  own: Generation,
  { yields, oneAtATime }: Pick<Demand, 'yields' | 'oneAtATime'> = { yields: false },
): void {
  positions.load(loadEndsOf(own));
  throttle.demand({ isPaused: own.isPaused === true, pace: own.pace, yields, oneAtATime });
}

/**
 * Follows what operators decide about the generation of this projector: once a second it reads the registry, ends where
 * the generation was dropped, slows a build down, and records how far a build has come.
 */
export function followRegistry(deps: FollowDeps, intervalMs = 1_000): Pick<Repeating, 'stop'> {
  const { control, generation: number, logger } = deps;
  const look = async () => {
    const registry = await readRegistry(control, { projection: { history: 0 } });
    if (!registry) return;
    try {
      const own = generationOf(registry, number);
      steer(deps, own, await roomFor(deps, own, registry.generation));
      await recordBehind(deps, own);
      await advanceBuild(deps, own);
    } catch (error) {
      if (!(error instanceof NoSuchGeneration)) throw error;
      deps.onFatal(new NoSuchGeneration(`${error.message}; this projector ends`));
    }
  };
  return repeat(look, {
    intervalMs,
    onError: (error) => logger.warn({ error }, 'could not read the registry of generations; trying again'),
  });
}

/**
 * How much room a build leaves: its load to the readers of the active generation, and all of it to an active generation
 * that falls behind. One that nobody follows does not get ahead by more room.
 */
async function roomFor(
  deps: FollowDeps,
  own: Generation,
  active: number,
): Promise<Pick<Demand, 'yields' | 'oneAtATime'>> {
  if (!isBuild(own) || !(await isFollowed(deps.control, active, await deps.now()))) return { yields: false };
  const yields = (await behindSeconds(deps, active)) > yieldAfterSeconds;
  return { yields, oneAtATime: own.state === 'building' };
}

const behindSeconds = async ({ control, allowanceMs, now }: FollowDeps, number: number): Promise<number> =>
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
    logger.info({ generation: own.number }, 'ready to be verified and promoted');
  }
}

/** Being behind for this long can matter to tombstones; it is recorded again when it has grown by this factor. */
const recordedFromSeconds = 3_600;
export const recordedStep = 1.1;

/** Records how far the generation is behind. What it loads at first may be older than itself, and is not missed. */
async function recordBehind(deps: FollowDeps, own: Generation): Promise<void> {
  const sinceRegistered = ((await deps.now()).getTime() - own.registeredAt.getTime()) / 1_000;
  const seconds = Math.min(sinceRegistered, await behindSeconds(deps, own.number));
  if (seconds >= Math.max(recordedFromSeconds, (own.longestBehindSeconds ?? 0) * recordedStep))
    await changeRegistry(deps.control, wasBehind(own.number, Math.round(seconds)));
}

async function hasReached(control: Db, number: number, ends: ReadonlyMap<string, number>): Promise<boolean> {
  const positions = await recordedPositions(control, number);
  return [...ends].every(([key, end]) => (positions.get(key) ?? 0) >= end);
}
