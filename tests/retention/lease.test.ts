import { createMetrics } from '../../services/projector/runtime/metrics.ts';
import { releaseLease, takeLease, type Lease } from '../../services/projector/retention/lease.ts';
import { startSweeper } from '../../services/projector/retention/sweeper.ts';
import { watermarksOf } from '../../shared/store/progress.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { pino } from 'pino';
import { eventually } from '../support/eventually.ts';
import { day, eventsOf, openReadModel, type ReadModel } from './read-model.ts';

const id = 'sweep of generation 1';
const minuteMs = 60_000;

describe('a lease', () => {
  let model: ReadModel;

  beforeEach(async () => {
    model = await openReadModel();
  }, 60_000);
  afterEach(() => model.close(), 60_000);

  const leases = () => model.control.collection<Lease>('leases');
  const take = (now: Date) => takeLease(model.control, { id, now, durationMs: minuteMs });
  /** Lets another process hold the lease until a day. */
  const heldByAnother = (until: Date) => leases().insertOne({ _id: id, holder: 'another', until });

  test('is taken if nobody holds it, and renewed by its holder', async () => {
    expect(await take(day(0))).toBe(true);
    expect(await leases().findOne()).toMatchObject({ _id: id, until: day(0, minuteMs) });
    expect(await take(day(0, 1_000))).toBe(true);
    expect(await leases().findOne()).toMatchObject({ until: day(0, 1_000 + minuteMs) });
  }, 60_000);

  test('can be taken from another holder only after it expires', async () => {
    await heldByAnother(day(1));
    expect(await take(day(1, -1))).toBe(false);
    expect(await leases().findOne()).toMatchObject({ holder: 'another', until: day(1) });
    expect(await take(day(1))).toBe(true);
    expect(await leases().findOne()).not.toMatchObject({ holder: 'another' });
  }, 60_000);

  test('is released only by its holder', async () => {
    await take(day(0));
    await releaseLease(model.control, id);
    expect(await leases().countDocuments()).toBe(0);
    await heldByAnother(day(1));
    await releaseLease(model.control, id);
    expect(await leases().countDocuments()).toBe(1);
  }, 60_000);

  test('lets one projector at a time sweep, and another after the lease expires', async () => {
    // given expired data, and a lease that another projector holds
    const { channel, conversation } = eventsOf('a');
    await model.apply([channel(), conversation(0)]);
    await watermarksOf(model.control).insertOne({ _id: 1, completeTo: day(40) });
    await heldByAnother(day(41));
    let now = day(40);
    let runs = 0;
    const clock = () => {
      runs += 1;
      return now;
    };
    const metrics = createMetrics();
    const options = { generation: 1, metrics, logger: pino({ level: 'silent' }) };
    const { signal: _signal, asOf: _asOf, ...deps } = model.sweepDeps(day(40));
    const sweeper = startSweeper({ ...deps, ...options, store: model.store, now: clock }, 10);
    const isSwept = async () =>
      (await collectionOf(model.database, 'conversation').countDocuments({ state: { $exists: true } })) === 0;
    // then no run sweeps anything
    await eventually(() => runs >= 5);
    expect(await isSwept()).toBe(false);
    // and once the lease has expired, this projector sweeps
    now = day(41);
    await eventually(async () => (await metrics.expired.get()).values[0]?.value === 1);
    expect(await isSwept()).toBe(true);
    expect(await leases().findOne()).not.toMatchObject({ holder: 'another' });
    // and releases the lease when it stops
    await sweeper.stop();
    expect(await leases().countDocuments()).toBe(0);
  }, 60_000);
});
