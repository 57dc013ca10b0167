import type { Db } from 'mongodb';
import { readRegistry } from '../../../shared/control/generations.ts';
import { readRepeatedly } from './deadline.ts';
import type { ReadSnapshots } from './read-snapshot.ts';
import { StoreUnavailable } from './store-errors.ts';

/**
 * Creates the function that rejects with `StoreUnavailable` if a generation was dropped. The collections of a dropped
 * generation read as empty, which a client would take for the end of a list, or for a deletion.
 */
export const createGenerationCheck =
  ({ control, snapshots }: { control: Db; snapshots: Pick<ReadSnapshots, 'current'> }) =>
  async (generation: number): Promise<void> => {
    // The active generation cannot be dropped, and a drop begins long after a switch: most checks read nothing.
    if ((await snapshots.current()).generation === generation) return;
    const registry = await readRepeatedly((limits) =>
      readRegistry(control, { ...limits, projection: { history: 0 } }),
    );
    const state = registry?.generations.find(({ number }) => number === generation)?.state;
    if (state === undefined || state === 'dropping' || state === 'dropped')
      throw new StoreUnavailable(`generation ${generation} was dropped while a request read it`);
  };
