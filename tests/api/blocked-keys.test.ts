import { readAcceptableLosses } from '../../services/operations/accept/lost-collections.ts';
import { blockedKeys } from '../../shared/control/blocked-keys.ts';
import { useOpened } from '../support/use-opened.ts';
import { mongoUrl, startApi, startStore, tokens } from './test-api.ts';

const store = useOpened(startStore);
const block = { _id: 'key_a', orgId: 'org_a', at: new Date(), by: 'ann@host', why: 'test' };

/** The statuses of the key that may be blocked, of a key of another organization, and of an unknown key. */
async function statuses(): Promise<number[]> {
  const api = await startApi(store);
  const requests = [tokens.a, tokens.b, 'svc_live_unknown'].map((token) => api.get('/v1/tickets', { token }));
  const answers = await Promise.all(requests);
  await api.close();
  return answers.map(({ status }) => status);
}

const deps = () => {
  const config = { DATABASE_NAME: store.name, MONGODB_URL: mongoUrl() };
  return { control: store.control, mongo: store.control.client, config } as unknown as Parameters<
    typeof readAcceptableLosses
  >[0];
};

test('every key gets 503 after a loss of the blocks until an operator accepts the present blocks', async () => {
  expect(await statuses()).toEqual([200, 200, 401]);
  await blockedKeys(store.control).insertOne(block);
  expect(await statuses()).toEqual([401, 200, 401]);
  await blockedKeys(store.control).drop();
  expect(await statuses()).toEqual([503, 503, 503]);
  // This block creates the collection again.
  await blockedKeys(store.control).insertOne(block);
  expect(await statuses()).toEqual([503, 503, 503]);
  const { seen, apply } = await readAcceptableLosses(deps(), 1);
  expect(seen).toEqual([`${store.name}.blocked_keys counts as it is now`]);
  await apply?.();
  expect(await statuses()).toEqual([401, 200, 401]);
});
