import { createMetrics } from '../../services/projector/runtime/metrics.ts';
import { releaseLease, takeLease, type Lease } from '../../services/projector/retention/lease.ts';
import { startSweeper } from '../../services/projector/retention/sweeper.ts';
import { watermarksOf } from '../../shared/store/generations.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { pino } from 'pino';
import { eventually } from '../support/eventually.ts';
import { day, eventsOf, openReadModel, type ReadModel } from './read-model.ts';

const id = 'sweep of generation 1';
const minuteMs = 60_000;

describe('the lease of a piece of work', () => {
  let model: ReadModel;

  beforeEach(async () => {
    model = await openReadModel();
  }, 60_000);
  afterEach(() => model.close(), 60_000);

  const leases = () => model.control.collection<Lease>('leases');
  const take = (now: Date) => takeLease(model.control, { id, now, durationMs: minuteMs });
  /** Has another process hold it until a day. */
  const heldByAnother = (until: Date) => leases().insertOne({ _id: id, holder: 'another', until });

  test('is taken where nobody has it, and renewed by who has it', async () => {
    expect(await take(day(0))).toBe(true);
    expect(await leases().findOne()).toMatchObject({ _id: id, until: day(0, minuteMs) });
    expect(await take(day(0, 1_000))).toBe(true);
    expect(await leases().findOne()).toMatchObject({ until: day(0, 1_000 + minuteMs) });
  }, 60_000);

  test("is another's until it lapses, then anybody's", async () => {
    await heldByAnother(day(1));
    expect(await take(day(1, -1))).toBe(false);
    expect(await leases().findOne()).toMatchObject({ holder: 'another', until: day(1) });
    expect(await take(day(1))).toBe(true);
    expect(await leases().findOne()).not.toMatchObject({ holder: 'another' });
  }, 60_000);

  test('is given back by who has it alone', async () => {
    await take(day(0));
    await releaseLease(model.control, id);
    expect(await leases().countDocuments()).toBe(0);
    await heldByAnother(day(1));
    await releaseLease(model.control, id);
    expect(await leases().countDocuments()).toBe(1);
  }, 60_000);

  test('lets one projector at a time sweep, and the next when that one is gone', async () => {
    // given expired data, and a lease that another projector holds
    const { channel, conversation } = eventsOf('a');
    await model.apply([channel(), conversation(0)]);
    await watermarksOf(model.control).insertOne({ _id: 1, completeTo: day(40) });
    await heldByAnother(day(41));
    let now = day(40);
    let turns = 0;
    const clock = () => {
      turns += 1;
      return now;
    };
    const metrics = createMetrics();
    const options = { generation: 1, metrics, logger: pino({ level: 'silent' }) };
    const { signal: _signal, asOf: _asOf, ...deps } = model.sweepDeps(day(40));
    const sweeper = startSweeper({ ...deps, ...options, store: model.store, now: clock }, 10);
    const isFreed = async () =>
      (await collectionOf(model.database, 'conversation').countDocuments({ state: { $exists: true } })) === 0;
    // then turn after turn frees nothing
    await eventually(() => turns >= 5);
    expect(await isFreed()).toBe(false);
    // and once it has lapsed, this one sweeps
    now = day(41);
    await eventually(async () => (await metrics.lapsed.get()).values[0]?.value === 1);
    expect(await isFreed()).toBe(true);
    expect(await leases().findOne()).not.toMatchObject({ holder: 'another' });
    // and gives it back when it stops
    await sweeper.stop();
    expect(await leases().countDocuments()).toBe(0);
  }, 60_000);
});
