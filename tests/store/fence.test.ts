import type { Store } from '../../services/projector/materialize/store.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import { changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { openEngineStore, type EngineStore } from './engine-store.ts';

const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
const message = created('message', 'msg_1');
const died = new Error('died');

/** So rare a schedule that the simulation meets it once in 150,000: it is played here. */
describe('a worker that lost its partition', () => {
  let opened: EngineStore;

  beforeAll(async () => {
    opened = await openEngineStore();
  }, 120_000);
  afterAll(() => opened.close(), 60_000);

  const apply = (event: Event, store = opened.store) =>
    applyChanges(engineDeps(store), event.kind, [changeOf(event)]);
  const shown = async () =>
    (await opened.database.collection<{ _id: string }>('messages').findOne({ _id: 'msg_1' })) as unknown as {
      joined: object;
    };

  it('writes nothing over what a refresh has found right', async () => {
    // given a message that shows its author's name
    await apply(contact('Ada', 1));
    await apply(message);
    expect(await shown()).toMatchObject({ joined: { author: { name: 'Ada' } } });
    // and a rename whose worker dies before any dependent is refreshed
    const dying: Store = { ...opened.store, findDependents: () => Promise.reject(died) };
    await expect(apply(contact('Countess', 2), dying)).rejects.toBe(died);
    // and a worker on the message, that has read the new name, and stands still before it writes
    let stands = () => {};
    const standing = new Promise<void>((resolve) => (stands = resolve));
    let wake = () => {};
    const awake = new Promise<void>((resolve) => (wake = resolve));
    const slow: Store = {
      ...opened.store,
      write: async (kind, writes) => {
        stands();
        await awake;
        await opened.store.write(kind, writes);
        throw died;
      },
    };
    const late = apply(message, slow).catch((error: unknown) => error);
    await standing;
    // when the name goes back to what it was, all is refreshed, and that worker wakes up and dies
    await apply(contact('Ada', 3));
    wake();
    expect(await late).toBe(died);
    // then the message shows the name that is
    expect(await shown()).toMatchObject({ joined: { author: { name: 'Ada' } } });
  }, 60_000);
});
