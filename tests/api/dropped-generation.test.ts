import type { CommandStartedEvent } from 'mongodb';
import { generationDatabase } from '../../shared/store/connection.ts';
import { generationsOf, projectionVersion, type Generation } from '../../shared/control/generations.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import * as build from './builders.ts';
import { now, oneOfEach, urls } from './every-route.ts';
import { errorOf, tokens, useApi } from './test-api.ts';

const clock = { nowMs: 0 };
let active = 1;
const documents = oneOfEach();
// Before `useApi`, whose own hook closes the client.
afterAll(() => generationDatabase(api.store.control.client, api.store.name, active).dropDatabase());
const api = useApi(documents, { now, nowMs: () => clock.nowMs });
/** Switches to a new generation with the same documents, and drops the active one at once: it ends in `state`. */
async function dropActive(state: 'dropping' | 'dropped') {
  const { control, name } = api.store;
  const next = generationDatabase(control.client, name, active + 1);
  await ensureIndexes(next);
  const keys = [build.apiKey(tokens.a, { id: 'key_a' }), build.apiKey(tokens.b, { id: 'key_b' })];
  await build.fill(next, { ...documents, apiKey: keys });
  const at = new Date();
  const generation = (number: number, state: Generation['state']): Generation => {
    return { number, projectionVersion, state, since: at, registeredAt: at };
  };
  await generationsOf(control).updateOne(
    { _id: 'active' },
    {
      $set: {
        generation: active + 1,
        generations: [generation(active, state), generation(active + 1, 'active')],
      },
    },
  );
  await generationDatabase(control.client, name, active).dropDatabase();
  active += 1;
}

/** A replica can be frozen for longer than a drop waits for it; the collections then read as empty. */
it.each([
  ...urls.map((url) => [url, 'dropped'] as const),
  ['/v1/tickets', 'dropping'] as const,
  ['/v1/tickets?createdAt[lte]=2030-01-01&sort=updatedAt', 'dropped'] as const,
])('%s is an error, and not empty, if its generation is %s meanwhile', async (path, state) => {
  // given a request of the snapshot that is in use, and time that passes while its data is read
  expect((await api.get(path)).status).toBe(200);
  await dropActive(state);
  const age = ({ databaseName }: CommandStartedEvent) => {
    if (databaseName.endsWith(`_g${active - 1}`)) clock.nowMs += 10_000;
  };
  api.client.on('commandStarted', age);
  const answer = await api.get(path);
  api.client.off('commandStarted', age);
  expect([answer.status, errorOf(answer)?.code]).toEqual([503, 'service_unavailable']);
  expect((await api.get(path)).status).toBe(200);
});

it('a valid key is an error, and not unknown, if it is first looked up in a generation that was dropped', async () => {
  expect((await api.get('/v1/tickets')).status).toBe(200);
  await dropActive('dropped');
  // Longer than a snapshot is used, and shorter than the look-up of a key may take.
  const age = ({ databaseName }: CommandStartedEvent) => {
    if (databaseName.endsWith(`_g${active - 1}`)) clock.nowMs += 2_000;
  };
  api.client.on('commandStarted', age);
  const answer = await api.get('/v1/tickets', { token: tokens.b });
  api.client.off('commandStarted', age);
  expect([answer.status, errorOf(answer)?.code]).toEqual([503, 'service_unavailable']);
  expect((await api.get('/v1/tickets', { token: tokens.b })).status).toBe(200);
});
