import { mutations } from './mutations.ts';
import { runMutated } from './run.ts';

const firstSeed = Number(process.env.SEED ?? 1);
/** Enough to catch most planted faults, with a margin; the others set their own number. */
const schedulesPerFault = 1_500;

describe('the simulation', () => {
  test.each(mutations)('does not converge if $name', async (mutation) => {
    const schedules = mutation.schedules ?? schedulesPerFault;
    const { code, output } = await runMutated(mutation, schedules, firstSeed);
    expect(output).toContain('does not converge');
    expect(code).toBe(1);
  });
});
