import type { DeadLetterSize } from '../../../shared/control/dead-letters.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import type { Metrics } from '../metrics.ts';

/**
 * How the next dead letters are stored: `whole`; as their `head`, once all of them take `bytesMax`; or `counted`, once
 * they take twice as much, or are `countMax`.
 */
export type Room = 'whole' | 'head' | 'counted';

export type DeadLetterRoom = {
  /** How the next dead letter is to be stored. */
  left: () => Promise<Room>;
  /** The part of the limits that the stored dead letters take. */
  filled: () => Promise<number>;
  /** Adds the dead letters that this process has stored. */
  add: (added: DeadLetterSize) => void;
};

export type RoomLimits = { bytesMax: number; countMax: number };

type RoomSettings = { DEAD_LETTER_MEGABYTES_MAX: number; DEAD_LETTERS_MAX: number };

export const roomLimits = (config: RoomSettings): RoomLimits => ({
  bytesMax: config.DEAD_LETTER_MEGABYTES_MAX * 1024 * 1024,
  countMax: config.DEAD_LETTERS_MAX,
});

/** A measurement counts for this long, in milliseconds, and until this process has added 8 MB. */
const measuredForMs = 5_000;
const measureAfterBytes = 8 * 1024 * 1024;

/** The room that the limits leave. Pure. */
export function roomLeft({ bytes, count }: DeadLetterSize, { bytesMax, countMax }: RoomLimits): Room {
  if (count >= countMax || bytes >= 2 * bytesMax) return 'counted';
  return bytes >= bytesMax ? 'head' : 'whole';
}

/** The part of the limits that the dead letters take, of the one of which they take more. */
export const filledRatio = ({ bytes, count }: DeadLetterSize, { bytesMax, countMax }: RoomLimits): number =>
  Math.max(bytes / bytesMax, count / countMax);

/**
 * Bounds the dead letters, so that they do not fill the store of the read model. Several projectors may exceed the
 * bound by the dead letters that each adds between two measurements.
 */
export function createDeadLetterRoom(
  measure: () => Promise<DeadLetterSize>,
  limits: RoomLimits,
  nowMs: () => number = () => performance.now(),
): DeadLetterRoom {
  let size: DeadLetterSize = { bytes: 0, count: 0 };
  let measuredMs = -Infinity;
  let addedBytes = 0;
  const measured = async (): Promise<DeadLetterSize> => {
    if (nowMs() - measuredMs < measuredForMs && addedBytes < measureAfterBytes) return size;
    size = await measure();
    measuredMs = nowMs();
    addedBytes = 0;
    return size;
  };
  return {
    left: async () => roomLeft(await measured(), limits),
    filled: async () => filledRatio(await measured(), limits),
    add: (added) => {
      addedBytes += added.bytes;
      size = { bytes: size.bytes + added.bytes, count: size.count + added.count };
    },
  };
}

/** How often the size of the dead letters is measured for the metrics, in milliseconds. */
const showEveryMs = 15_000;

/** Shows in the metrics how full the room is. */
export const watchRoom = (
  room: DeadLetterRoom,
  metrics: Pick<Metrics, 'deadLetterRoom'>,
  logger: Logger,
): Pick<Repeating, 'stop'> =>
  repeat(async () => metrics.deadLetterRoom.set(await room.filled()), {
    intervalMs: showEveryMs,
    onError: (error) => logger.warn({ error }, 'the dead letters could not be measured'),
  });
