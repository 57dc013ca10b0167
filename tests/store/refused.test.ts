import type { Change } from '../../services/projector/events/change.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import {
  applyChanges,
  applyRecords,
  changeOf,
  engineDeps,
  recordOf,
  storedDocument,
} from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const tagId = (prefix: string, index: number) => `tag_${prefix}_${index}`;
const tagIds = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => tagId(prefix, index));

/**
 * The store refuses a ticket above 16 MB. No parser accepts names that are so long, but the tests use them for every
 * refusal of the store.
 */
describe('a document that the store refuses', () => {
  const opened = useEngineStore();
  let offset = 0;

  const tag = (id: string, nameLength: number) => storedDocument({ id, name: 'x'.repeat(nameLength) });
  const storeTags = async (tags: StoredDocument[]) => {
    for (const document of tags) await opened.store.write('tag', [{ op: 'put', document, guard: null }]);
  };
  const ticket = (id: string, ids: string[], version = 1) => created('ticket', id, { tagIds: ids }, version);
  /** The engine's dependencies, and a list of the documents that the engine could not refresh. */
  const createObservedDeps = () => {
    const notRefreshed: string[] = [];
    const onNotRefreshed = (kind: Kind, id: string, reason: string) => {
      expect(reason).not.toBe('');
      notRefreshed.push(`${kind} ${id}`);
    };
    return { notRefreshed, deps: engineDeps(opened.store, { now: () => new Date(7), onNotRefreshed }) };
  };
  /** Applies events of one kind in one batch. Returns the dead-lettered events, and the documents not refreshed. */
  const apply = async (events: Event[]) => {
    const { notRefreshed, deps } = createObservedDeps();
    const records = events.map((event, index) => recordOf(event, offset + index + 1));
    offset += events.length;
    const { rejected } = await applyRecords(deps, events[0]?.kind ?? 'tag', records);
    const deadLettered = rejected.map(({ record, rejection }) => {
      const event = events[records.indexOf(record)];
      return [event?.id, event?.version, rejection.reason];
    });
    return { deadLettered, notRefreshed };
  };
  /** Renames a tag to a name that no parser accepts. */
  const rename = async (id: string, nameLength: number, version: number) => {
    const { notRefreshed, deps } = createObservedDeps();
    const change = changeOf(created('tag', id, {}, version), (offset += 1));
    const state = { id, name: 'y'.repeat(nameLength) };
    await applyChanges(deps, 'tag', [{ ...change, state } as Change]);
    return notRefreshed;
  };
  const findTicket = (id: string) => opened.find('ticket', id);
  const tagNameLengths = async (id: string) => {
    const { tags } = (await findTicket(id))?.joined as { tags: { name: string }[] };
    return tags.map(({ name }) => name.length);
  };

  test('is the only dead letter of its batch', async () => {
    // given tags that are too large together for one ticket
    await storeTags(tagIds('a', 22).map((id) => tag(id, 900_000)));
    const few = tagIds('a', 2);
    // when one ticket of a batch refers to all of the tags
    const { deadLettered, notRefreshed } = await apply([
      ticket('ti_a1', few),
      ticket('ti_a2', tagIds('a', 22)),
      ticket('ti_a3', []),
      ticket('ti_a4', few),
    ]);
    expect({ deadLettered, notRefreshed }).toEqual({
      deadLettered: [['ti_a2', 1, 'refused_by_store']],
      notRefreshed: [],
    });
    expect(await findTicket('ti_a2')).toBeNull();
    for (const id of ['ti_a1', 'ti_a4']) expect(await tagNameLengths(id)).toEqual([900_000, 900_000]);
    expect(await tagNameLengths('ti_a3')).toEqual([]);
  });

  test('leaves the last version that the store accepted', async () => {
    await storeTags(tagIds('b', 22).map((id) => tag(id, 900_000)));
    await apply([ticket('ti_b1', [])]);
    const { deadLettered } = await apply([
      ticket('ti_b1', tagIds('b', 22), 2),
      ticket('ti_b2', []),
      ticket('ti_b2', tagIds('b', 22), 2),
    ]);
    expect(deadLettered.toSorted()).toEqual([
      ['ti_b1', 2, 'refused_by_store'],
      ['ti_b2', 2, 'refused_by_store'],
    ]);
    for (const id of ['ti_b1', 'ti_b2'])
      expect(await findTicket(id)).toMatchObject({ version: 1, state: { tagIds: [] } });
    // then the store accepts a later version that fits
    expect((await apply([ticket('ti_b1', tagIds('b', 1), 3)])).deadLettered).toEqual([]);
    expect(await tagNameLengths('ti_b1')).toEqual([900_000]);
  });

  test('keeps its embedded names in a refresh until the new names fit', async () => {
    // given a ticket with tags that just fit, among tickets with only one of these tags
    await storeTags(tagIds('c', 22).map((id, index) => tag(id, index === 0 ? 10 : 700_000)));
    const smallTicketIds = Array.from({ length: 40 }, (_, index) => `ti_c_${String(index).padStart(2, '0')}`);
    await apply([
      ...smallTicketIds.map((id) => ticket(id, tagIds('c', 1))),
      ticket('ti_c_15_large', tagIds('c', 22)),
    ]);
    const ticketBefore = await findTicket('ti_c_15_large');
    // when the name of that tag becomes too large for the ticket
    expect(await rename(tagId('c', 0), 2_500_000, 2)).toEqual(['ticket ti_c_15_large']);
    // then the ticket keeps the old name, and all other tickets have the new name
    expect(await findTicket('ti_c_15_large')).toEqual(ticketBefore);
    for (const id of smallTicketIds) expect(await tagNameLengths(id)).toEqual([2_500_000]);
    // then a worker refreshes the ticket once the name fits again
    expect(await rename(tagId('c', 0), 20, 3)).toEqual([]);
    expect((await tagNameLengths('ti_c_15_large'))[0]).toBe(20);
    for (const id of smallTicketIds) expect(await tagNameLengths(id)).toEqual([20]);
  });

  test('is dead-lettered once although a conflict repeats the round of its entity', async () => {
    // given a batch with a record of another organization
    // when another worker writes the entity before the first write of the batch
    const contact = (name: string, version: number) => created('contact', 'con_d', { name }, version);
    await apply([contact('Ada', 1)]);
    let isFirst = true;
    const store: Store = {
      ...opened.store,
      write: async (kind, writes) => {
        if (isFirst) {
          isFirst = false;
          await apply([contact('Grace', 2)]);
        }
        return opened.store.write(kind, writes);
      },
    };
    const foreign = { ...contact('Eve', 4), orgId: 'org_2' };
    const changes = [contact('Countess', 3), foreign].map((event) => changeOf(event));
    const rejections = await applyChanges(engineDeps(store), 'contact', changes);
    expect(rejections.map(({ change, rejection }) => [changes.indexOf(change), rejection.reason])).toEqual([
      [1, 'wrong_organization'],
    ]);
    const { documents } = await opened.store.readCurrent('contact', ['con_d']);
    expect(documents).toMatchObject([{ version: 3, state: { name: 'Countess' } }]);
  });
});
