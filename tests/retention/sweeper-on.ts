import { pino } from 'pino';
import { createMetrics } from '../../services/projector/metrics.ts';
import { startSweeper } from '../../services/projector/retention/sweeper.ts';
import type { useReadModel } from './read-model.ts';

export type SweeperDeps = Parameters<typeof startSweeper>[0];

/** Returns a function that starts a sweeper on the read model. */
export const sweeperOn =
  (model: ReturnType<typeof useReadModel>) =>
  (changes: Partial<SweeperDeps>, options?: Parameters<typeof startSweeper>[1]) => {
    const { signal: _signal, asOf: _asOf, ...deps } = model.sweepDeps(new Date());
    return startSweeper(
      {
        ...deps,
        control: model.control,
        prefix: 'support.',
        generation: 1,
        now: () => new Date(),
        logger: pino({ level: 'silent' }),
        metrics: createMetrics(),
        isOwner: () => true,
        announceSweep: () => undefined,
        ...changes,
      },
      options,
    );
  };
