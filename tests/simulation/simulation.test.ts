import { availableParallelism } from 'node:os';
import { size } from '../support/long.ts';
import { runSimulation } from './run.ts';

/** In total; each process runs its share. */
const schedules = Number(process.env.SCHEDULES ?? size(1_000, 10_000));
const firstSeed = Number(process.env.SEED ?? 1);

describe('the engine under random schedules of workers, crashes, lost replies and reassignments', () => {
  test(`converges to the fold in ${schedules} schedules`, async () => {
    const processes = availableParallelism();
    const share = Math.ceil(schedules / processes);
    const runs = await Promise.all(
      Array.from({ length: processes }, (_, index) => runSimulation('.', share, firstSeed + index * share)),
    );
    expect(runs.map(({ output }) => output)).toEqual(
      runs.map((_, index) => `${share} schedules from seed ${firstSeed + index * share} converged\n`),
    );
  });
});
