import { createPositions } from '../../services/projector/partition/positions.ts';

/** The order of a consumer's partitions: here, no partition waits for another. */
export const anyOrder = () => ({
  positions: createPositions(() => performance.now()),
  prerequisitesOf: (): string[] => [],
});
