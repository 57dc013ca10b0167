import { types } from 'node:util';
import { verifyDocuments } from '../../services/operations/verify/verify-documents.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { applyChanges, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { emptyData, memoryStore, readWhole } from './memory-store.ts';
import { withoutEdge } from './verifier.ts';

/** Jest's `structuredClone` makes dates of another realm, which never equal dates of this realm. */
function ofThisRealm<T>(value: T): T {
  if (types.isDate(value)) return new Date(value.getTime()) as T;
  if (Array.isArray(value)) return value.map((element) => ofThisRealm<unknown>(element)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) copy[name] = ofThisRealm<unknown>(inner);
  return copy as T;
}

describe('a repair of a document that an earlier release has written without an edge', () => {
  test('joins it again if the entity changes after the repair has read it', async () => {
    // given a ticket without the references to its topics, and a repair that has read both, and is about to write
    const data = emptyData();
    const worker = memoryStore(data);
    const earlier = withoutEdge(worker, { kind: 'ticket', name: 'topics' });
    const apply = (store: Store, event: Event) =>
      applyChanges(engineDeps(store), event.kind, [changeOf(event)]);
    await apply(worker, created('topic', 'topic_1', { name: 'Billing' }));
    await apply(earlier, created('ticket', 'ti_1', { topicIds: ['topic_1'] }));
    const rename = created('topic', 'topic_1', { name: 'Invoices' }, 2);
    let isRenamed = false;
    const pause = async (label: string) => {
      if (isRenamed || label !== 'write ticket ti_1') return;
      isRenamed = true;
      // when a worker renames the topic before the repair writes: the worker's fan-out finds no ticket
      await apply(worker, rename);
    };
    const store = memoryStore(data, pause);
    const read = readWhole(data, pause);
    const readDocuments: typeof read = async (kind, ids) => ofThisRealm(await read(kind, ids));
    const deps = { ...engineDeps(store), readDocuments };
    await verifyDocuments(deps, 'ticket', ['ti_1'], { isRepair: true });
    expect(isRenamed).toBe(true);
    expect(data.get('ticket')?.get('ti_1')?.joined).toMatchObject({ topics: [{ name: 'Invoices' }] });
  });
});
