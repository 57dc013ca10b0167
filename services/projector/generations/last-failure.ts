import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, Db } from 'mongodb';
import { LogGap } from '../consumer/gap-detector.ts';

/** Why a projector of a generation has last ended for good. */
export type Failure = {
  /** The generation. */
  _id: number;
  reason: string;
  /** A projector that is started again ends again: records are gone from the log, or a topic was created again. */
  isFinal: boolean;
  /** Host and process. */
  by: string;
  /** By the store's clock. */
  at: Date;
};

export const failuresOf = (control: Db): Collection<Failure> => control.collection('projector_failures');

/** How long an ending projector tries to store its reason, in milliseconds. */
const storeWithinMs = 2_000;

/** Stores why a projector ends, for `rebuild status`. It never rejects, and takes two seconds at most. */
export async function storeFailure(
  { control, generation, by }: { control: Db; generation: number; by: string },
  error: Error,
): Promise<void> {
  const failure = { reason: error.message, isFinal: error instanceof LogGap, by };
  const update = { $set: failure, $currentDate: { at: true as const } };
  const storing = failuresOf(control).updateOne({ _id: generation }, update, { upsert: true });
  await Promise.race([storing.catch(() => undefined), sleep(storeWithinMs, undefined, { ref: false })]);
}
