import type { Store } from '../../services/projector/materialize/store.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import { changeOf, engineDeps, haltingStore } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
const message = created('message', 'msg_1');
const crashed = new Error('the worker crashed');

/** The simulation meets this interleaving once in 150,000 schedules, so it is played step by step. */
describe('a worker that lost its partition', () => {
  const opened = useEngineStore();

  const apply = (event: Event, store = opened.store) =>
    applyChanges(engineDeps(store), event.kind, [changeOf(event)]);
  const stored = () => opened.find('message', 'msg_1');

  it('does not overwrite a document that a refresh has found right', async () => {
    // given a message that embeds its author's name
    await apply(contact('Ada', 1));
    await apply(message);
    expect(await stored()).toMatchObject({ joined: { author: { name: 'Ada' } } });
    // and a rename whose worker crashes before any dependent is refreshed
    const crashing: Store = { ...opened.store, findDependents: () => Promise.reject(crashed) };
    await expect(apply(contact('Countess', 2), crashing)).rejects.toBe(crashed);
    // and a worker on the message that has read the new name, and halts before its write
    const { store, halted, resume } = haltingStore(opened.store);
    const write: Store['write'] = async (kind, writes) => {
      await store.write(kind, writes);
      throw crashed;
    };
    const late = apply(message, { ...store, write }).catch((error: unknown) => error);
    await halted;
    // when the old name is restored and the message refreshed, and the halted worker then writes and crashes
    await apply(contact('Ada', 3));
    resume();
    expect(await late).toBe(crashed);
    // then the message embeds the restored name
    expect(await stored()).toMatchObject({ joined: { author: { name: 'Ada' } } });
  });
});
