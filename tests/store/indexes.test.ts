import { collectionOf } from '../../shared/store/connection.ts';
import { kinds } from '../../shared/documents/document.ts';
import { ensureIndexes, missingIndexes } from '../../shared/store/indexes.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test('a start drops the TTL index that `expiry` has replaced, and a second start finds nothing to drop', async () => {
  const { database } = opened;
  const former = { name: 'tombstones', key: { expiresAt: 1 }, expireAfterSeconds: 0 } as const;
  for (const kind of kinds) await collectionOf(database, kind).createIndexes([former]);
  const namesOf = async () => {
    const found = await Promise.all(kinds.map((kind) => collectionOf(database, kind).indexes()));
    return found.flat().map(({ name }) => name);
  };
  for (let start = 1; start <= 2; start += 1) {
    await ensureIndexes(database);
    expect(await namesOf()).not.toContain('tombstones');
    expect(await missingIndexes(database)).toEqual([]);
  }
});
