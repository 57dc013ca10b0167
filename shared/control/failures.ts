import type { Collection, Db } from 'mongodb';
import { within } from '../runtime/within.ts';
import { silentAfterSeconds } from './progress.ts';

/** Why a projector of a generation last ended, unless it has found a gap: see log-gaps.ts. */
export type Failure = {
  /** The generation. */
  _id: number;
  reason: string;
  /** Host and process. */
  by: string;
  /** By MongoDB's clock. */
  at: Date;
};

export const failuresOf = (control: Db): Collection<Failure> => control.collection('projector_failures');

/** Whether no projector has continued the generation since. An ending projector saves its progress once more. */
export const isLastFailure = ({ at }: Failure, savedAt: Date | null): boolean =>
  at.getTime() + silentAfterSeconds * 1_000 > (savedAt?.getTime() ?? 0);

/** An ending projector waits at most this long for MongoDB, in milliseconds. */
const storeWithinMs = 2_000;

/** Stores why a projector ends, for `rebuild status`. Never rejects. */
export async function storeFailure(
  { control, generation, by }: { control: Db; generation: number; by: string },
  reason: string,
): Promise<void> {
  const update = { $set: { reason, by }, $currentDate: { at: true as const } };
  const storing = failuresOf(control).updateOne({ _id: generation }, update, { upsert: true });
  await within(storeWithinMs, storing, () => undefined).catch(() => undefined);
}
