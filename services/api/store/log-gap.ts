import type { Db } from 'mongodb';
import type { Gauge } from 'prom-client';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import { failuresOf, isLastFailure } from '../../../shared/control/failures.ts';
import { lastSavedAt } from '../../../shared/control/progress.ts';
import { readOptions } from './deadline.ts';
import type { ReadSnapshots } from './read-snapshot.ts';

/** Short of the interval of common scrapes, in milliseconds. */
const pollMs = 10_000;

/**
 * Reads every ten seconds whether the log of the served generation has a gap. A projector that finds one exits, so its own
 * metrics cannot tell.
 */
export function watchLogGap(
  {
    control,
    snapshots,
    logGap,
  }: { control: Db; snapshots: Pick<ReadSnapshots, 'lastGeneration'>; logGap: Gauge },
  intervalMs = pollMs,
): Pick<Repeating, 'stop'> {
  const poll = async () => {
    const generation = snapshots.lastGeneration();
    if (generation === null) return;
    using limits = readOptions();
    const failure = await failuresOf(control).findOne({ _id: generation, isFinal: true }, limits);
    const isLast = failure && isLastFailure(failure, await lastSavedAt(control, generation, limits));
    logGap.set(isLast ? failure.at.getTime() / 1_000 : 0);
  };
  // The API logs and counts the errors of MongoDB elsewhere.
  return repeat(poll, { intervalMs, onError: () => undefined });
}
