import { availableParallelism } from 'node:os';
import { mutations } from './mutations.ts';
import { runMutated, runSimulation } from './run.ts';

/** Each process takes its share of them. */
const schedules = Number(process.env.SCHEDULES ?? 10_000);
const firstSeed = Number(process.env.SEED ?? 1);
/** Enough for most mutations to be caught, with a margin; the others say how many they take. */
const schedulesPerMutation = 1_500;

describe('the engine under random schedules of workers, crashes, lost replies and reassignments', () => {
  it(`converges on the fold in ${schedules} of them`, async () => {
    const processes = availableParallelism();
    const share = Math.ceil(schedules / processes);
    const runs = await Promise.all(
      Array.from({ length: processes }, (_, index) => runSimulation('.', share, firstSeed + index * share)),
    );
    expect(runs.map(({ output }) => output)).toEqual(
      runs.map((_, index) => `${share} schedules from seed ${firstSeed + index * share} converged\n`),
    );
  }, 900_000);

  it.each(mutations)(
    'does not where $name',
    async (mutation) => {
      const { code, output } = await runMutated(
        mutation,
        mutation.schedules ?? schedulesPerMutation,
        firstSeed,
      );
      expect(output).toContain('does not converge');
      expect(code).toBe(1);
    },
    300_000,
  );
});
