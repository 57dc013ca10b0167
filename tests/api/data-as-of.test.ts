import type { CommandStartedEvent } from 'mongodb';
import { resources } from '../../shared/documents/resources.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { storeTime } from '../../shared/store/clock.ts';
import * as build from './builders.ts';
import { now, oneOfEach, urls } from './every-route.ts';
import { startApi, useApi } from './test-api.ts';

const clock = { nowMs: 0 };
const api = useApi(oneOfEach(), { now, nowMs: () => clock.nowMs });

it('is never later than the clock of the store, even if the stored watermark is', async () => {
  const [since, future] = [await storeTime(api.store.control), new Date(Date.now() + dayMs)];
  await build.dataAsOf(api.store.control, future);
  const other = await startApi(api.store);
  const asOf = new Date((await other.get('/v1/tickets')).headers.get('data-as-of') ?? '');
  await other.close();
  expect(asOf >= since && asOf <= (await storeTime(api.store.control))).toBe(true);
  await build.dataAsOf(api.store.control, new Date(0));
});

const read = Object.values(resources).map(({ collection }) => collection);

/** A watermark read after the data could promise changes that the data lacks; an export would then lose them. */
it.each(urls)('%s returns the watermark that was read before the data', async (path) => {
  const asOf = async () => (await api.get(path)).headers.get('data-as-of');
  const [before, after] = [new Date(clock.nowMs + 1_000), new Date(clock.nowMs + 2_000)];
  clock.nowMs += 10_000;
  await build.dataAsOf(api.store.control, before);
  expect(await asOf()).toBe(before.toISOString());

  // when the watermark advances, and the cached snapshot becomes stale while the data is read
  await build.dataAsOf(api.store.control, after);
  let reads = 0;
  const age = ({ command }: CommandStartedEvent) => {
    if (!read.includes(String(command.find))) return;
    reads += 1;
    clock.nowMs += 10_000;
  };
  api.client.on('commandStarted', age);
  expect(await asOf()).toBe(before.toISOString());
  api.client.off('commandStarted', age);
  expect(reads).toBeGreaterThan(0);
  expect(await asOf()).toBe(after.toISOString());
});
