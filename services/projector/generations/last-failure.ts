import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { failuresOf } from '../../../shared/control/failures.ts';
import { LogGap } from '../consumer/gap-detector.ts';

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
