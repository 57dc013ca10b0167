import { availableParallelism } from 'node:os';
import { mutations } from './mutations.ts';
import { runMutated, runSimulation } from './run.ts';

/** In total; each process runs its share. */
const schedules = Number(process.env.SCHEDULES ?? 10_000);
const firstSeed = Number(process.env.SEED ?? 1);
/** Enough to catch most mutations, with a margin; the others set their own number. */
const schedulesPerMutation = 1_500;

describe('the engine under random schedules of workers, crashes, lost replies and reassignments', () => {
  it(`converges to the fold in ${schedules} schedules`, async () => {
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
    'does not converge if $name',
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
