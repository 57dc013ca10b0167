import { recordProgress } from '../../services/projector/consume/progress.ts';
import { progressOf } from '../../shared/runtime/generation.ts';
import { createRig, type Rig } from '../support/projectors.ts';

describe('progress', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await createRig(1);
  }, 60_000);
  afterAll(() => rig.close(), 60_000);

  test('a partition whose end is not known does not count as caught up', async () => {
    const partition = {
      topic: 't',
      partition: 1,
      position: 7,
      appliedToMs: 5_000,
      touches: 0,
      isWorking: false,
    };
    const deps = { control: rig.control, generation: 1, allowanceMs: 1_000 };
    await recordProgress(deps, [partition], new Map(), new Date(60_000));
    const found = await progressOf(rig.control).findOne({ topic: 't' });
    expect(found).toMatchObject({ position: 7, end: 7, completeTo: new Date(4_000) });
  }, 60_000);
});
