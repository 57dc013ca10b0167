import type { Store } from '../../services/projector/materialize/store.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import { createReferenceCache } from '../../services/projector/materialize/reference-cache.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { changeOf, deletionOf, engineDeps, haltingStore } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const contact = (name: string, version: number) =>
  created('contact', 'con_1', { name, email: null }, version);

describe('a contact that is created again after its tombstone document has expired', () => {
  const opened = useEngineStore({ each: true });
  let nowMs = Date.UTC(2026, 0, 1);

  /** A projector with a cache of its own. */
  const start = (store: Store = opened.store) => {
    const deps = engineDeps(store, { cache: createReferenceCache(), now: () => new Date(nowMs) });
    return (event: Event, offset = event.version) =>
      applyChanges(deps, event.kind, [changeOf(event, offset)]);
  };
  /** Deletes the contact, plays the TTL monitor, and creates it again, as version 3. */
  const createAgain = async (apply: ReturnType<typeof start>) => {
    await apply(deletionOf(contact('Ada', 1), 2));
    nowMs += 86_400_000;
    await collectionOf(opened.database, 'contact').deleteOne({ _id: 'con_1' });
    await apply(contact('Bob', 3));
  };

  it('shows its new name in documents of a projector that has cached the old one', async () => {
    // given a projector that has cached the contact
    const [a, b] = [start(), start()];
    await b(contact('Ada', 1));
    await a(created('message', 'msg_1'));
    // when another projector deletes it and creates it again
    await createAgain(b);
    // then the first projector joins new documents with the new name
    await a(created('conversation', 'conv_2', { contactId: 'con_1' }), 50);
    await a(created('message', 'msg_2', { conversationId: 'conv_2' }), 50);
    expect((await opened.find('conversation', 'conv_2'))?.joined).toMatchObject({ contact: { name: 'Bob' } });
    for (const id of ['msg_1', 'msg_2'])
      expect((await opened.find('message', id))?.joined).toMatchObject({ author: { name: 'Bob' } });
  });

  it('keeps its new state although a worker that read the old one writes late', async () => {
    // given a worker that has read the contact, and halts before it writes a later version
    await start()(contact('Ada', 1));
    const { store, halted, resume } = haltingStore(opened.store);
    const late = start(store)(contact('Countess', 2));
    await halted;
    // when the contact is deleted and created again before the write
    await createAgain(start());
    resume();
    await late;
    // then the new state stays
    expect(await opened.find('contact', 'con_1')).toMatchObject({ version: 3, state: { name: 'Bob' } });
  });
});
