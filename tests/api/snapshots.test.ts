import type { CommandStartedEvent } from 'mongodb';
import { type Generation, generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { resources } from '../../shared/documents/resources.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import * as build from './builders.ts';
import { now, oneOfEach, urls } from './every-route.ts';
import { errorOf, startApi, tokens, useApi } from './test-api.ts';

const clock = { nowMs: 0 };
let active = 1;
const documents = oneOfEach();
// Before `useApi`, whose own hook closes the client.
afterAll(() => generationDatabase(api.store.control.client, api.store.name, active).dropDatabase());
const api = useApi(documents, { now, nowMs: () => clock.nowMs });

/** Sends a request while this much time passes with each command that `matches`. */
async function whileAging(
  ms: number,
  matches: (event: CommandStartedEvent) => boolean,
  ...request: Parameters<typeof api.get>
) {
  const start = clock.nowMs;
  const age = (event: CommandStartedEvent) => {
    if (matches(event)) clock.nowMs += ms;
  };
  api.client.on('commandStarted', age);
  const answer = await api.get(...request);
  api.client.off('commandStarted', age);
  expect(clock.nowMs).toBeGreaterThan(start);
  return answer;
}

describe('Data-As-Of', () => {
  test('Data-As-Of is never later than the clock of the store', async () => {
    const since = await storeTime(api.store.control);
    const future = new Date(Date.now() + dayMs);
    await build.dataAsOf(api.store.control, future);
    const replica = await startApi(api.store);
    const asOf = new Date((await replica.get('/v1/tickets')).headers.get('data-as-of') ?? '');
    await replica.close();
    expect(asOf >= since && asOf <= (await storeTime(api.store.control))).toBe(true);
    await build.dataAsOf(api.store.control, new Date(0));
  });

  const collections = Object.values(resources).map(({ collection }) => collection);

  /** A watermark read after the data could promise changes that the data lacks; an export would then lose them. */
  test.each(urls)('Data-As-Of of %s is the watermark that was read before the data', async (path) => {
    const before = new Date(clock.nowMs + 1_000);
    const after = new Date(clock.nowMs + 2_000);
    clock.nowMs += 10_000;
    await build.dataAsOf(api.store.control, before);
    expect((await api.get(path)).headers.get('data-as-of')).toBe(before.toISOString());
    // The watermark advances, and the cached snapshot becomes stale during the read.
    await build.dataAsOf(api.store.control, after);
    const readsData = ({ command }: CommandStartedEvent) => collections.includes(String(command.find));
    const { headers } = await whileAging(10_000, readsData, path);
    expect(headers.get('data-as-of')).toBe(before.toISOString());
    expect((await api.get(path)).headers.get('data-as-of')).toBe(after.toISOString());
  });
});

describe('a generation that is dropped while it is read', () => {
  /** Switches to a new generation with the same documents, and drops the former one, which then has this state. */
  async function dropActive(state: 'dropping' | 'dropped') {
    const { control, name } = api.store;
    const next = generationDatabase(control.client, name, active + 1);
    await ensureIndexes(next);
    const keys = [build.apiKey(tokens.a, { id: 'key_a' }), build.apiKey(tokens.b, { id: 'key_b' })];
    await build.fill(next, { ...documents, apiKey: keys });
    const at = new Date();
    const acceptance = { finding: 'older' as const, at, by: 'ann', why: 'test', seen: [] };
    const generation = (number: number, generationState: Generation['state']): Generation => {
      return { number, projectionVersion, state: generationState, since: at, accepted: [acceptance] };
    };
    const generations = [generation(active, state), generation(active + 1, 'active')];
    await generationsOf(control).updateOne(
      { _id: 'active' },
      { $set: { generation: active + 1, generations } },
    );
    await build.dataAsOf(control, at, active + 1);
    await generationDatabase(control.client, name, active).dropDatabase();
    active += 1;
  }
  const readsDropped = ({ databaseName }: CommandStartedEvent) => databaseName.endsWith(`_g${active - 1}`);

  /** A replica can be frozen for longer than a drop waits for it; the collections then read as empty. */
  test.each([
    ...urls.map((url) => [url, 'dropped'] as const),
    ['/v1/tickets', 'dropping'] as const,
    ['/v1/tickets?createdAt[lte]=2030-01-01&sort=updatedAt', 'dropped'] as const,
  ])('a read of %s is an error and not an empty answer: %s', async (path, state) => {
    // The first request takes the snapshot that the second request uses.
    expect((await api.get(path)).status).toBe(200);
    await dropActive(state);
    const answer = await whileAging(10_000, readsDropped, path);
    expect({ status: answer.status, code: errorOf(answer)?.code }).toEqual({
      status: 503,
      code: 'service_unavailable',
    });
    expect((await api.get(path)).status).toBe(200);
  });

  test('a valid key gets an error and does not count as unknown', async () => {
    expect((await api.get('/v1/tickets')).status).toBe(200);
    await dropActive('dropped');
    // Longer than a snapshot is used, and shorter than the look-up of a key may take.
    const answer = await whileAging(2_000, readsDropped, '/v1/tickets', { token: tokens.b });
    expect({ status: answer.status, code: errorOf(answer)?.code }).toEqual({
      status: 503,
      code: 'service_unavailable',
    });
    expect((await api.get('/v1/tickets', { token: tokens.b })).status).toBe(200);
  });
});
