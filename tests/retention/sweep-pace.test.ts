import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { SweeperDeps } from '../../services/projector/retention/sweeper.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useReadModel } from './read-model.ts';
import { sweeperOn } from './sweeper-on.ts';

describe('a projector that owns the sweep', () => {
  const model = useReadModel();
  const start = sweeperOn(model);
  const hourMs = 3_600_000;
  /**
   * Starts a sweeper on a simulated clock. A sweep of expired documents takes 3 s, and a complete sweep `completeMs`.
   * Returns after the end of the first sweeps.
   */
  const startPaced = async (completeMs: number, changes: Partial<SweeperDeps> = {}) => {
    const state = { nowMs: 0, isOwner: true, fails: false, completeMs };
    let polls = 0;
    const sweeps: string[] = [];
    const { sweepStore } = model.sweepDeps(new Date());
    await model.apply([created('channel', 'chan_1', { dataRetentionDays: 1 })]);
    await model.setWatermark();
    const readConversations: SweepStore['readConversations'] = async (_channel, _after, createdUpTo) => {
      sweeps.push(createdUpTo ? 'expired' : 'all');
      state.nowMs += createdUpTo ? 3_000 : state.completeMs;
      if (state.fails) throw new Error('away');
      return [];
    };
    const isOwner = () => {
      polls += 1;
      return state.isOwner;
    };
    const sweeper = start(
      { sweepStore: { ...sweepStore, readConversations }, isOwner, ...changes },
      { intervalMs: 50_000, pollMs: 1, nowMs: () => state.nowMs },
    );
    await eventually(() => polls > 2);
    const firstSweeps = sweeps.splice(0);
    /** Sets the time, and returns the sweeps that start then. */
    const sweepsAt = async (ms: number) => {
      sweeps.length = 0;
      state.nowMs = ms;
      const pollsBefore = polls;
      await eventually(() => polls > pollsBefore + 2);
      return sweeps;
    };
    return { state, firstSweeps, sweepsAt, stop: sweeper.stop };
  };

  /** Fails to read the document of a dead letter. */
  const damagedStore = async (): Promise<Partial<SweeperDeps>> => {
    await storeDeadLetter(model, created('contact', 'con_damaged'));
    return { store: { ...model.store, readEnvelopes: () => Promise.reject(new Error('a page is damaged')) } };
  };
  test.each<[string, () => Partial<SweeperDeps> | Promise<Partial<SweeperDeps>>]>([
    ['erases dead letters', () => ({})],
    ['cannot read a document that a dead letter names', damagedStore],
  ])('spends at most a twentieth of its time on each kind of sweep if it %s', async (_, changes) => {
    const { state, firstSweeps, sweepsAt, stop } = await startPaced(2 * hourMs, await changes());
    expect(firstSweeps).toEqual(['all', 'expired']);
    expect(await sweepsAt(2 * hourMs + 59_999)).toEqual([]);
    expect(await sweepsAt(2 * hourMs + 60_000)).toEqual(['expired']);
    expect(await sweepsAt(40 * hourMs - 1)).toEqual(['expired']);
    state.completeMs = 10;
    expect(await sweepsAt(40 * hourMs + 60_000)).toEqual(['all']);
    await stop();
  });

  test('reads all conversations once a day', async () => {
    const { firstSweeps, sweepsAt, stop } = await startPaced(10);
    expect(firstSweeps).toEqual(['all']);
    expect(await sweepsAt(24 * hourMs - 1)).toEqual(['expired']);
    expect(await sweepsAt(24 * hourMs + 60_000)).toEqual(['all']);
    await stop();
  });

  test('reads all conversations after a failed sweep', async () => {
    const { state, sweepsAt, stop } = await startPaced(10);
    state.fails = true;
    expect(await sweepsAt(state.nowMs + 60_000)).toEqual(['expired']);
    state.fails = false;
    expect(await sweepsAt(state.nowMs + 60_000)).toEqual(['all']);
    expect(await sweepsAt(state.nowMs + 60_000)).toEqual(['expired']);
    await stop();
  });

  test('reads all conversations after another projector was the owner', async () => {
    const { state, sweepsAt, stop } = await startPaced(10);
    state.isOwner = false;
    expect(await sweepsAt(state.nowMs + 60_000)).toEqual([]);
    state.isOwner = true;
    expect(await sweepsAt(state.nowMs)).toEqual(['all']);
    await stop();
  });
});
