import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, Db } from 'mongodb';
import { LogGap } from '../consumer/gap-detector.ts';

/** Why a projector of a generation last ended. */
export type Failure = {
  /** The generation. */
  _id: number;
  reason: string;
  /** No projector can continue: records are gone from the log, or a topic was created again. */
  isFinal: boolean;
  /** Host and process. */
  by: string;
  /** By MongoDB's clock. */
  at: Date;
};

export const failuresOf = (control: Db): Collection<Failure> => control.collection('projector_failures');

/** An ending projector waits at most this long for MongoDB, in milliseconds. */
const storeWithinMs = 2_000;

/** Stores why a projector ends, for `rebuild status`. Never rejects. */
export async function storeFailure(
  { control, generation, by }: { control: Db; generation: number; by: string },
  error: Error,
): Promise<void> {
  const failure = { reason: error.message, isFinal: error instanceof LogGap, by };
  const update = { $set: failure, $currentDate: { at: true as const } };
  const storing = failuresOf(control).updateOne({ _id: generation }, update, { upsert: true });
  await Promise.race([storing.catch(() => undefined), sleep(storeWithinMs, undefined, { ref: false })]);
}
