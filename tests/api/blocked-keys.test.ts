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

/** The statuses of the key that may be blocked, of a key of another organization and of an unknown one. */
type Statuses = { blocked: number; other: number; unknown: number };

/** The statuses on a new replica. */
async function statuses(): Promise<Statuses> {
  const api = await startApi(store);
  const statusOf = async (token: string) => (await api.get('/v1/tickets', { token })).status;
  const all = [tokens.a, tokens.b, 'svc_live_unknown'].map(statusOf);
  const [blocked = 0, other = 0, unknown = 0] = await Promise.all(all).finally(api.close);
  return { blocked, other, unknown };
}

/** Where the marker is. */
type Marks = { inRegistry: boolean; inCollection: boolean };
const marked: Marks = { inRegistry: true, inCollection: true };

/** The answers to the keys while this is stored, and where the marker is after a projector's start. */
test.each<{ name: string; stored: Given; answers: Statuses; marks: Marks }>([
  {
    name: 'an earlier release, without blocks',
    stored: { registry: false, marker: false, block: false },
    answers: { blocked: 200, other: 200, unknown: 401 },
    marks: marked,
  },
  {
    name: 'an earlier release, with a block',
    stored: { registry: false, marker: false, block: true },
    answers: { blocked: 401, other: 200, unknown: 401 },
    marks: marked,
  },
  {
    name: 'a registry from before the marker',
    stored: { registry: false, marker: true, block: true },
    answers: { blocked: 401, other: 200, unknown: 401 },
    marks: marked,
  },
  {
    name: 'a marker, without blocks',
    stored: { registry: true, marker: true, block: false },
    answers: { blocked: 200, other: 200, unknown: 401 },
    marks: marked,
  },
  {
    name: 'a marker, with a block',
    stored: { registry: true, marker: true, block: true },
    answers: { blocked: 401, other: 200, unknown: 401 },
    marks: marked,
  },
  {
    name: 'a lost collection',
    stored: { registry: true, marker: false, block: false },
    answers: { blocked: 503, other: 503, unknown: 503 },
    marks: { inRegistry: true, inCollection: false },
  },
  {
    name: 'a collection from before the marker',
    stored: { registry: true, marker: false, block: true },
    answers: { blocked: 503, other: 503, unknown: 503 },
    marks: { inRegistry: true, inCollection: false },
  },
])('$name', async ({ stored, answers, marks }) => {
  await given(stored);
  expect(await statuses()).toEqual(answers);
  await ensureBlocksMarker(store.control, await requireRegistry(store.control), new Date());
  const { hasBlocksMarker } = await requireRegistry(store.control);
  const marker = await blockedKeys(store.control).findOne({ _id: 'marker' });
  expect({ inRegistry: hasBlocksMarker, inCollection: marker !== null }).toEqual(marks);
});
