import { pino } from 'pino';
import { createMetrics } from '../../services/projector/metrics.ts';
import {
  startSweeper,
  type SweeperDeps,
  type SweeperTimes,
} from '../../services/projector/retention/sweeper.ts';
import type { useReadModel } from './read-model.ts';

/** Returns a function that starts a sweeper on the read model. */
export const sweeperOn =
  (model: ReturnType<typeof useReadModel>) => (changes: Partial<SweeperDeps>, times?: SweeperTimes) => {
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
      times,
    );
  };
