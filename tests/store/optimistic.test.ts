import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { chunkSize } from '../../services/projector/materialize/fan-out.ts';
import { changeOf, deletionOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { openEngineStore, type EngineStore } from './engine-store.ts';

const idOf = (prefix: string, index: number) => `con_${prefix}_${String(index).padStart(4, '0')}`;
const contacts = (prefix: string, count: number, name = 'Ada', version = 1) =>
  Array.from({ length: count }, (_, index) => created('contact', idOf(prefix, index), { name }, version));

describe('a batch of new ids', () => {
  let opened: EngineStore;

  beforeAll(async () => {
    opened = await openEngineStore();
  }, 120_000);
  afterAll(() => opened.close(), 60_000);

  /** A newly started projector. `apply` returns how many documents each round read, and how many it tried to insert. */
  const start = () => {
    const reads: number[] = [];
    const inserts: number[] = [];
    const store: Store = {
      ...opened.store,
      readCurrent: (kind, ids) => {
        reads.push(ids.length);
        return opened.store.readCurrent(kind, ids);
      },
      write: (kind, writes) => {
        inserts.push(writes.filter(({ guard }) => guard === null).length);
        return opened.store.write(kind, writes);
      },
    };
    const apply = async (events: Event[]) => {
      reads.length = inserts.length = 0;
      const rejections = await applyChanges(
        engineDeps(store, { isApplied: () => true }),
        'contact',
        events.map((event) => changeOf(event)),
      );
      return { reads: [...reads], inserts: [...inserts], rejections };
    };
    return { apply };
  };
  const countNamed = (name: string) =>
    opened.database.collection('contacts').countDocuments({ 'state.name': name });

  it('is inserted without a read once the batch before it was new', async () => {
    const { apply } = start();
    expect((await apply(contacts('a', 3 * chunkSize))).reads).toEqual([chunkSize]);
    expect((await apply(contacts('b', 10))).reads).toEqual([]);
    expect(await countNamed('Ada')).toBe(3 * chunkSize + 10);
  }, 60_000);

  it('reads only the ids that are taken, and changes them by the same rules', async () => {
    const { apply } = start();
    await apply(contacts('c', chunkSize));
    // when a few of many are known: a newer version, a stale version, another organization, a deletion
    const [newer, stale, foreign, toDelete] = contacts('c', 4, 'Known', 2);
    if (!newer || !stale || !foreign || !toDelete) throw new Error('there are four');
    const events = [
      ...contacts('d', chunkSize - 5, 'New'),
      newer,
      { ...stale, version: 1 },
      { ...foreign, orgId: 'org_2' },
      deletionOf(toDelete, 2),
    ];
    const { reads, rejections } = await apply(events);
    expect(reads).toEqual([4]);
    expect(rejections.map(({ change, rejection }) => [change.id, rejection.reason])).toEqual([
      [foreign.id, 'wrong_organization'],
    ]);
    expect([await countNamed('New'), await countNamed('Known')]).toEqual([chunkSize - 5, 1]);
    const { documents } = await opened.store.readCurrent('contact', [
      newer.id,
      stale.id,
      foreign.id,
      toDelete.id,
    ]);
    expect(documents.map(({ version, state }) => [version, state !== undefined])).toEqual([
      [2, true],
      [1, true],
      [1, true],
      [2, false],
    ]);
  }, 60_000);

  it('is read first again once most ids of a batch are known', async () => {
    const { apply } = start();
    await apply(contacts('e', chunkSize));
    // when later versions come, then only the first batch tries to insert
    const { reads, inserts } = await apply(
      ['e', 'a'].flatMap((prefix) => contacts(prefix, chunkSize, 'Known', 2)),
    );
    expect(reads).toEqual([chunkSize, chunkSize]);
    expect(inserts).toEqual([chunkSize, 0, 0]);
    expect(await countNamed('Known')).toBe(1 + 2 * chunkSize);
  }, 60_000);
});
