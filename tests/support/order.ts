import { createPositions } from '../../services/projector/partition/positions.ts';

/** Dependencies of a consumer with which no partition waits for another. */
export const anyOrder = () => ({
  positions: createPositions(() => performance.now()),
  prerequisitesOf: (): string[] => [],
});
