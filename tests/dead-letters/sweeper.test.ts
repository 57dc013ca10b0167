import { pino } from 'pino';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { startSweeper } from '../../services/projector/retention/sweeper.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { useReadModel } from '../retention/read-model.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';

describe('the sweeper', () => {
  const model = useReadModel();

  test('erases, in each of its runs, dead letters of deleted entities whose `lastAt` is some minutes old', async () => {
    const contact = created('contact', 'con_gone');
    await model.apply([contact, deletionOf(contact, 2)], new Date());
    const deps = { control: model.control, prefix: 'support.', generation: 1 };
    /** Stores a dead letter about the contact, as a worker does whose clock lags or that was slow. */
    const storeLate = (offset: number) =>
      storeDeadLetter(model, contact, { offset, now: new Date(Date.now() - 300_000) });
    const isErased = async () => (await deadLettersOf(model.control).countDocuments()) === 0;
    await storeLate(1);
    const { signal: _signal, asOf: _asOf, ...sweepDeps } = model.sweepDeps(new Date());
    const running = { store: model.store, metrics: createMetrics(), logger: pino({ level: 'silent' }) };
    const sweeper = startSweeper(
      { ...sweepDeps, ...deps, ...running, now: () => new Date(), isOwner: () => true },
      { intervalMs: 10, pollMs: 5 },
    );
    // the first run reads all of them, and a later run those since the run before it, with an overlap
    await eventually(isErased);
    await storeLate(2);
    await eventually(isErased);
    await sweeper.stop();
  }, 60_000);
});
