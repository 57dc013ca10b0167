import { createPositions } from '../../services/projector/consumer/positions.ts';

/** What orders the partitions of a consumer: here, none waits for another. */
export const anyOrder = () => ({
  positions: createPositions(() => performance.now()),
  prerequisitesOf: (): string[] => [],
});
