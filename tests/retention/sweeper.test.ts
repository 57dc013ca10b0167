import { createMetrics } from '../../services/projector/metrics.ts';
import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { SweeperDeps } from '../../services/projector/retention/sweeper.ts';
import { purgeDeadLetters } from '../../shared/control/ledger-store.ts';
import { processesOf, type Projector, type SweepOutcome } from '../../shared/control/processes.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { projector } from '../support/facts.ts';
import { day, eventsOf, useReadModel } from './read-model.ts';
import { sweeperOn } from './sweeper-on.ts';

describe('the sweeper of a projector', () => {
  const model = useReadModel();
  const start = sweeperOn(model);

  test('erases dead letters of deleted entities in each run', async () => {
    const contact = created('contact', 'con_gone');
    await model.apply([contact, deletionOf(contact, 2)], new Date());
    /** Stores a dead letter with a `storedAt` that is five minutes old, as a slow worker does. */
    const storeLate = (offset: number) =>
      storeDeadLetter(model, contact, { offset, now: new Date(Date.now() - 300_000) });
    const isErased = async () => (await recordBytesOf(model.control).countDocuments()) === 0;
    await storeLate(1);
    const sweeper = start({}, { intervalMs: 10, pollMs: 5 });
    // The first run reads all dead letters. A later run reads those since the previous run, with an overlap.
    await eventually(isErased);
    await storeLate(2);
    await eventually(isErased);
    await sweeper.stop();
  });

  test('removes the bytes of a dead letter whose purge was interrupted in its next complete run', async () => {
    let nowMs = 0;
    const id = await storeDeadLetter(model, created('contact', 'con_old'), { now: new Date(0) });
    const bytes = await recordBytesOf(model.control).find({ _id: id }).toArray();
    const hasBytes = async () => (await recordBytesOf(model.control).countDocuments({ _id: id })) === 1;
    let runs = 0;
    const announceSweep = () => {
      runs += 1;
    };
    const sweeper = start({ announceSweep }, { intervalMs: 10, pollMs: 5, nowMs: () => nowMs });
    await eventually(async () => runs === 1);
    // given a purge that ends before it removes the bytes
    await purgeDeadLetters(model.control, [id], { by: 'ann', at: new Date() });
    await recordBytesOf(model.control).insertMany(bytes);
    nowMs += 86_400_000;
    await eventually(async () => runs === 2);
    expect(await hasBytes()).toBe(false);
    await sweeper.stop();
  });

  test('purges expired data although MongoDB cannot read a document that a dead letter names', async () => {
    const { conversation, ...named } = eventsOf('old');
    await model.apply([named.channel(), conversation(0)]);
    await model.setWatermark(day(100));
    const id = await storeDeadLetter(model, created('contact', 'con_damaged'));
    const readEnvelopes = () => Promise.reject(new Error('a page is damaged'));
    const outcomes: SweepOutcome[] = [];
    const announceSweep: SweeperDeps['announceSweep'] = (outcome) => void outcomes.push(outcome);
    const store = { ...model.store, readEnvelopes };
    const sweeper = start({ now: () => day(100), store, announceSweep }, { intervalMs: 10, pollMs: 5 });
    await eventually(() => outcomes.at(-1)?.reason?.includes('a page is damaged') === true);
    expect((await model.answersAt('old', day(0))).conversation).toBeNull();
    // The sweep succeeds once an operator has purged the dead letter.
    await purgeDeadLetters(model.control, [id], { by: 'ann', at: day(100) });
    await eventually(() => outcomes.at(-1)?.reason === null);
    await sweeper.stop();
  });

  describe('that fails', () => {
    afterEach(() => processesOf(model.control).deleteMany({}));

    /** Starts a sweeper that fails, after the sweeps of an earlier owner have failed since an instant. */
    const startFailing = async () => {
      await model.setWatermark();
      const metrics = createMetrics();
      const announceSweep = jest.fn<void, [SweepOutcome]>();
      const since = new Date('2126-01-01T00:00:00Z');
      const state = { problem: 'not authorized' as string | null, isOwner: true, nowMs: since.getTime() };
      const tick = () => {
        state.nowMs += 1_000;
        return state.nowMs;
      };
      const earlierOutcome = { at: since, failingSince: since, reason: 'of an earlier owner' };
      await processesOf<Projector>(model.control).insertOne(projector({ duties: { sweep: earlierOutcome } }));
      const readChannels: SweepStore['readChannels'] = async () => {
        if (state.problem !== null) throw new Error(state.problem);
        return [];
      };
      const sweeper = start(
        {
          metrics,
          now: () => new Date(tick()),
          announceSweep,
          isOwner: () => state.isOwner,
          sweepStore: { ...model.sweepDeps(new Date()).sweepStore, readChannels },
        },
        { intervalMs: 1, pollMs: 1, nowMs: tick },
      );
      const announcement = () => announceSweep.mock.lastCall?.[0] ?? null;
      await eventually(() => announcement()?.reason === 'not authorized');
      const isFailing = async () => (await metrics.sweepFailing.get()).values[0]?.value === 1;
      return { state, since, announcement, isFailing, stop: sweeper.stop };
    };

    test('announces its latest reason and the time of the first failure', async () => {
      const { state, since, announcement, stop } = await startFailing();
      expect(announcement()?.failingSince).toEqual(since);
      state.problem = 'too slow';
      await eventually(() => announcement()?.reason === 'too slow');
      expect(announcement()?.failingSince).toEqual(since);
      expect(announcement()?.at.getTime()).toBeGreaterThan(since.getTime());
      await stop();
    });

    test('sets the metric only while its projector is the owner', async () => {
      const { state, since, announcement, isFailing, stop } = await startFailing();
      expect(await isFailing()).toBe(true);
      state.isOwner = false;
      await eventually(async () => !(await isFailing()));
      expect(announcement()?.failingSince).toEqual(since);
      state.isOwner = true;
      await eventually(isFailing);
      await stop();
    });

    test('announces a later failure as a new one after a sweep has succeeded', async () => {
      const { state, since, announcement, isFailing, stop } = await startFailing();
      state.problem = null;
      await eventually(() => announcement()?.failingSince === null);
      expect(await isFailing()).toBe(false);
      state.problem = 'again';
      await eventually(() => announcement()?.reason === 'again');
      expect(announcement()?.failingSince?.getTime()).toBeGreaterThan(since.getTime());
      await stop();
    });
  });

  test('does not wait for a sweep that makes no progress, and ignores the later end of that sweep', async () => {
    await model.setWatermark();
    const metrics = createMetrics();
    const reasons: (string | null)[] = [];
    const announceSweep = ({ reason }: SweepOutcome) => reasons.push(reason);
    const hanging = Promise.withResolvers<[]>();
    let sweeps = 0;
    const { sweepStore } = model.sweepDeps(new Date());
    const readChannels: SweepStore['readChannels'] = () => {
      sweeps += 1;
      return sweeps === 1 ? hanging.promise : Promise.reject(new Error(`sweep ${sweeps}`));
    };
    const times = { intervalMs: 1, pollMs: 1, stalledAfterMs: 100 };
    const changes = { metrics, announceSweep, sweepStore: { ...sweepStore, readChannels } };
    const sweeper = start(changes, times);
    await eventually(async () => (await metrics.sweepFailing.get()).values[0]?.value === 1);
    await eventually(() => /^sweep \d/.test(reasons.at(-1) ?? ''));
    hanging.resolve([]);
    const sweepsBefore = sweeps;
    await eventually(() => sweeps > sweepsBefore + 2);
    await sweeper.stop();
    expect(reasons).not.toContain(null);
  });

  test('stops within a page of a long sweep', async () => {
    await model.setWatermark();
    const begun = Promise.withResolvers<void>();
    const pagesMax = 500;
    let pages = 0;
    const { sweepStore } = model.sweepDeps(new Date());
    const readChannels: SweepStore['readChannels'] = async () => {
      begun.resolve();
      const channel = { id: `chan_${(pages += 1)}`, orgId: 'org_1', dataRetentionDays: 1 };
      return pages < pagesMax ? [channel] : [];
    };
    const sweeper = start({ sweepStore: { ...sweepStore, readChannels } });
    await begun.promise;
    await sweeper.stop();
    expect(pages).toBeLessThan(pagesMax);
  });
});
