import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { registerPartitions } from '../../services/projector/progress/progress.ts';
import { ensureControlIndexes } from '../../services/projector/startup/open-store.ts';
import { blockedKeys } from '../../shared/control/blocked-keys.ts';
import {
  activeGeneration,
  ensureRegistry,
  generationsOf,
  readRegistryOrLeftovers,
} from '../../shared/control/generations.ts';
import { emptySpan } from '../../shared/control/ledger.ts';
import { ledgerOf } from '../../shared/control/ledger-store.ts';
import { watermarksOf } from '../../shared/control/progress.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { readCollections } from '../../shared/store/structures.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const databases = useOpened(() => openDatabases());

/** Runs `use` with its own control database, and drops this database and its generations afterwards. */
async function withControl(use: (control: Db) => Promise<void>): Promise<void> {
  const control = databases.mongo.db(`${databases.name}_${randomBytes(3).toString('hex')}`);
  await use(control).finally(async () => {
    for (const number of [1, 7])
      await generationDatabase(databases.mongo, control.databaseName, number).dropDatabase();
    await control.dropDatabase();
  });
}

test('projectors that start together on an empty database all follow generation 1', async () => {
  for (let round = 0; round < 10; round += 1)
    await withControl(async (control) => {
      const start = async () => {
        const { generation } = await ensureRegistry(control);
        await registerPartitions(control, generation, ['tags/0'], new Date());
        return generation;
      };
      expect(await Promise.all(Array.from({ length: 6 }, start))).toEqual([1, 1, 1, 1, 1, 1]);
      expect(await generationsOf(control).countDocuments()).toBe(1);
    });
});

test('a command that reads the registry while the first projector registers it does not find it lost', async () => {
  await withControl(async (control) => {
    await ensureRegistry(control);
    // The first read comes before the registration.
    const reads = ['none'];
    const collection = (name: string) => control.collection(reads.pop() ?? name);
    const early = Object.assign(Object.create(control) as Db, { collection });
    expect(await requireRegistry(early)).toMatchObject({ generation: 1 });
    reads.push('none');
    expect(await readRegistryOrLeftovers(early)).toMatchObject({ leftovers: [] });
  });
});

const at = new Date();
const ofGeneration = (control: Db) => generationDatabase(control.client, control.databaseName, 7);

/** Leftovers of a read model without a registry. The refusal names them. */
test.each<[string, (control: Db) => Promise<unknown>]>([
  ['progress', (control) => registerPartitions(control, 7, ['tags/0'], at)],
  ['watermarks', (control) => watermarksOf(control).insertOne({ _id: 7, completeTo: at })],
  ['dead_letters', (control) => ledgerOf(control).insertOne(emptySpan('tags/0/0'))],
  [
    'blocked_keys',
    (control) => blockedKeys(control).insertOne({ _id: 'key_1', orgId: 'a', at, by: 'a', why: 'b' }),
  ],
  ['_g7', (control) => collectionOf(ofGeneration(control), 'qa').insertOne({ _id: 'qa_1' } as never)],
])('a start without a registry is refused if MongoDB has %s', async (named, leave) => {
  await withControl(async (control) => {
    await leave(control);
    await expect(ensureRegistry(control)).rejects.toThrow(named);
    expect(await generationsOf(control).countDocuments()).toBe(0);
  });
});

test('empty collections and their indexes do not count as a read model', async () => {
  await withControl(async (control) => {
    await ensureControlIndexes(control);
    for (const number of [1, 7])
      await ensureIndexes(generationDatabase(control.client, control.databaseName, number));
    // given a collection that an operator has created beforehand, to shard it
    await control.createCollection('blocked_keys');
    const sharded = (await readCollections(control)).get('blocked_keys');
    const registry = await ensureRegistry(control);
    expect(registry).toMatchObject({ generation: 1, manifest: { blocked_keys: sharded } });
  });
});

test('a control database of another stored form is refused by every process', async () => {
  await withControl(async (control) => {
    await ensureRegistry(control);
    await generationsOf(control).updateOne({}, { $set: { form: 2 } });
    for (const read of [ensureRegistry, requireRegistry, activeGeneration])
      await expect(read(control)).rejects.toThrow('has the stored form 2, and this release reads the form 1');
  });
});
