import { pino } from 'pino';
import type { SweepStore } from '../../services/projector/retention/sweep.ts';
import { startSweeper } from '../../services/projector/retention/sweeper.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { watermarksOf } from '../../shared/control/progress.ts';
import { deadLettersOf } from '../../shared/control/dead-letters.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { deletionOf } from '../support/engine.ts';
import { useReadModel } from './read-model.ts';

const long = { createdAt: '2020-01-01T00:00:00Z', updatedAt: '2020-01-01T00:00:00Z' };

describe('the sweeper of a projector', () => {
  const model = useReadModel();

  test('sweeps only while its projector is the owner, again and again', async () => {
    // given expired data, and a projector that is not the owner
    await model.apply([created('channel', 'chan_1', { dataRetentionDays: 1 })]);
    await model.apply([created('conversation', 'conv_1', { ...long, channelId: 'chan_1' })]);
    await watermarksOf(model.control).insertOne({ _id: 1, completeTo: new Date() });
    let polls = 0;
    let isOwner = false;
    const sweeper = startSweeper(
      {
        ...model.sweepDeps(new Date()),
        control: model.control,
        prefix: 'support.',
        generation: 1,
        logger: pino({ level: 'silent' }),
        isOwner: () => {
          polls += 1;
          return isOwner;
        },
      },
      { intervalMs: 0, pollMs: 5 },
    );
    const living = () =>
      collectionOf(model.database, 'conversation').countDocuments({ state: { $exists: true } });
    await eventually(() => polls >= 5);
    expect(await living()).toBe(1);
    // and once it is the owner, it sweeps, and later expired data too
    isOwner = true;
    await eventually(async () => (await living()) === 0);
    await model.apply([created('conversation', 'conv_2', { ...long, channelId: 'chan_1' })]);
    await eventually(async () => (await living()) === 0);
    await sweeper.stop();
  });

  test('erases, in each of its runs, dead letters of deleted entities whose `lastAt` is some minutes old', async () => {
    const contact = created('contact', 'con_gone');
    await model.apply([contact, deletionOf(contact, 2)], new Date());
    const deps = { control: model.control, prefix: 'support.', generation: 1 };
    /** Stores a dead letter about the contact, as a slow worker does. */
    const storeLate = (offset: number) =>
      storeDeadLetter(model, contact, { offset, now: new Date(Date.now() - 300_000) });
    const isErased = async () => (await deadLettersOf(model.control).countDocuments()) === 0;
    await storeLate(1);
    const { signal: _signal, asOf: _asOf, ...sweepDeps } = model.sweepDeps(new Date());
    const running = { store: model.store, logger: pino({ level: 'silent' }) };
    const sweeper = startSweeper(
      { ...sweepDeps, ...deps, ...running, now: () => new Date(), isOwner: () => true },
      { intervalMs: 10, pollMs: 5 },
    );
    // the first run reads all of them, and a later run those since the run before it, with an overlap
    await eventually(isErased);
    await storeLate(2);
    await eventually(isErased);
    await sweeper.stop();
  });

  test('is busy for a twentieth of the time at most', async () => {
    let [nowMs, sweeps, polls] = [0, 0, 0];
    const deps = model.sweepDeps(new Date());
    const readChannels: SweepStore['readChannels'] = async () => {
      sweeps += 1;
      nowMs += 10;
      return [];
    };
    const running = { control: model.control, prefix: 'support.', generation: 1 };
    await watermarksOf(model.control).insertOne({ _id: 1, completeTo: new Date() });
    const sweeper = startSweeper(
      {
        ...deps,
        ...running,
        sweepStore: { ...deps.sweepStore, readChannels },
        logger: pino({ level: 'silent' }),
        isOwner: () => (polls += 1) > 0,
      },
      { intervalMs: 50, pollMs: 1, nowMs: () => nowMs },
    );
    await eventually(() => sweeps === 1);
    // when less than 20 times as long has passed, then it does not sweep again
    nowMs = 199;
    const seen = polls;
    await eventually(() => polls > seen + 2);
    expect(sweeps).toBe(1);
    nowMs = 200;
    await eventually(() => sweeps === 2);
    await sweeper.stop();
  });

  test('stops within a page, however many pages its sweep has left', async () => {
    await watermarksOf(model.control).updateOne(
      { _id: 1 },
      { $set: { completeTo: new Date() } },
      { upsert: true },
    );
    const begun = Promise.withResolvers<void>();
    const pagesMax = 500;
    let pages = 0;
    const { signal: _signal, asOf: _asOf, ...sweepDeps } = model.sweepDeps(new Date());
    const readChannels: SweepStore['readChannels'] = async () => {
      begun.resolve();
      const channel = { id: `chan_${(pages += 1)}`, orgId: 'org_1', dataRetentionDays: 1 };
      return pages < pagesMax ? [channel] : [];
    };
    const sweeper = startSweeper({
      ...sweepDeps,
      sweepStore: { ...sweepDeps.sweepStore, readChannels },
      control: model.control,
      prefix: 'support.',
      generation: 1,
      logger: pino({ level: 'silent' }),
      isOwner: () => true,
    });
    await begun.promise;
    await sweeper.stop();
    expect(pages).toBeLessThan(pagesMax);
  });
});
