import { failuresOf } from '../../shared/control/failures.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses } from './api-processes.ts';
import { metricOf } from './raw-socket.ts';

const children = useApiProcesses();

it('shows the connections to MongoDB that are in use and idle, by pool', async () => {
  const child = await children.startServing();
  const connections = (pool: string, state: string) =>
    metricOf(child, `support_mongodb_connections{pool="${pool}",state="${state}"}`);
  expect(await connections('data', 'in_use')).toBe(0);
  expect(await connections('data', 'idle')).toBeGreaterThan(0);
  // Polls and traces may use all of them at the moment.
  await eventually(async () => (await connections('auth', 'idle')) > 0);
  expect(await metricOf(child, 'support_mongodb_checkouts_waiting{pool="data"}')).toBe(0);
});

it('shows no age of data before it has read any', async () => {
  const name = `${children.store.name}_empty`;
  const child = await children.start({ DATABASE_NAME: name, ADMIN_PORT: '0' });
  const { client } = children.store;
  // The first announcement sets the gauges before it is written.
  await eventually(async () => (await client.db(name).collection('replicas').countDocuments()) === 1);
  expect(await metricOf(child, 'api_data_age_seconds')).toBe(0);
  await child.stop();
  await client.db(name).dropDatabase();
});

it('shows a gap in the log of the served generation, until a projector has continued it', async () => {
  const { control } = children.store;
  const child = await children.startServing();
  const shown = (gap: number) =>
    eventually(async () => (await metricOf(child, 'api_log_gap_timestamp_seconds')) === gap);
  const at = new Date('2026-11-21T14:00:00Z');
  const saved = (updatedAt: Date) =>
    progressOf(control).updateOne({ generation: 1 }, { $set: { updatedAt } }, { upsert: true });
  const fail = (isFinal: boolean) =>
    failuresOf(control).replaceOne(
      { _id: 1 },
      { reason: 'a gap', isFinal, by: 'projector', at },
      { upsert: true },
    );
  await saved(at);
  await fail(true);
  await shown(at.getTime() / 1_000);
  // A failure that is not final is no gap: the projector tries again.
  await fail(false);
  await shown(0);
  await fail(true);
  await shown(at.getTime() / 1_000);
  await saved(new Date());
  await shown(0);
});
