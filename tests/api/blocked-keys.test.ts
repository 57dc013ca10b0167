import { blockedKeys, createBlocksMarker } from '../../shared/control/blocked-keys.ts';
import { generationsOf } from '../../shared/control/generations.ts';
import { ensureBlocksMarker, requireRegistry } from '../../shared/control/registry.ts';
import { useOpened } from '../support/use-opened.ts';
import { startApi, startStore, tokens } from './test-api.ts';

const store = useOpened(startStore);
const cause = { at: new Date(), by: 'ann@host', why: 'test' };

type Given = {
  /** Whether the registry knows of the marker. */
  registry: boolean;
  marker: boolean;
  /** Whether the key of organization a is blocked. */
  block: boolean;
};

async function given({ registry, marker, block }: Given): Promise<void> {
  await blockedKeys(store.control).deleteMany({});
  if (marker) await createBlocksMarker(store.control, cause);
  if (block) await blockedKeys(store.control).insertOne({ _id: 'key_a', orgId: 'org_a', ...cause });
  const change = registry
    ? { $set: { hasBlocksMarker: true } }
    : { $unset: { hasBlocksMarker: true as const } };
  await generationsOf(store.control).updateOne({ _id: 'active' }, change);
}

/** The statuses of a key of organization a, of a key of organization b and of an unknown key, on a new replica. */
async function statuses(): Promise<number[]> {
  const api = await startApi(store);
  const answers = [tokens.a, tokens.b, 'svc_live_unknown'].map((token) => api.get('/v1/tickets', { token }));
  return Promise.all(answers)
    .then((all) => all.map(({ status }) => status))
    .finally(api.close);
}

/** The stored state, the statuses, and whether the registry and the collection have the marker after a projector's start. */
test.each<[string, Given, number[], boolean[]]>([
  [
    'an earlier release, without blocks',
    { registry: false, marker: false, block: false },
    [200, 200, 401],
    [true, true],
  ],
  [
    'an earlier release, with a block',
    { registry: false, marker: false, block: true },
    [401, 200, 401],
    [true, true],
  ],
  [
    'a registry from before the marker',
    { registry: false, marker: true, block: true },
    [401, 200, 401],
    [true, true],
  ],
  ['a marker, without blocks', { registry: true, marker: true, block: false }, [200, 200, 401], [true, true]],
  ['a marker, with a block', { registry: true, marker: true, block: true }, [401, 200, 401], [true, true]],
  ['a lost collection', { registry: true, marker: false, block: false }, [503, 503, 503], [true, false]],
  [
    'a collection from before the marker',
    { registry: true, marker: false, block: true },
    [503, 503, 503],
    [true, false],
  ],
])('%s', async (_, stored, expected, marks) => {
  await given(stored);
  expect(await statuses()).toEqual(expected);
  await ensureBlocksMarker(store.control, await requireRegistry(store.control), new Date());
  const { hasBlocksMarker } = await requireRegistry(store.control);
  const marker = await blockedKeys(store.control).findOne({ _id: 'marker' });
  expect([hasBlocksMarker, marker !== null]).toEqual(marks);
});
