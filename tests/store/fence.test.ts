import type { Change } from '../../services/projector/events/change.ts';
import { applyChanges } from '../../services/projector/materialize/engine.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { openEngineStore } from './engine-store.ts';

const position = (offset: number) => ({ partition: 0, offset, timestampMs: offset });
const common = { op: 'upsert' as const, orgId: 'org_1', time: new Date(0) };

const contact = (name: string, version: number): Change => ({
  ...{ ...common, id: 'con_1', version, position: position(version) },
  own: { id: 'con_1', name, email: null },
});
const message: Change = {
  ...{ ...common, id: 'msg_1', version: 1, position: position(1) },
  own: {
    ...{ id: 'msg_1', conversationId: 'conv_1', type: 'chat', role: 'human', content: 'Hello' },
    ...{ author: { type: 'contact', id: 'con_1' }, attachments: [], createdAt: new Date(0), sentAt: null },
  },
};

/** So rare a schedule that the simulation meets it once in 150,000: it is played here. */
describe('a worker that lost its partition', () => {
  let store: Store;
  let close = async () => {};

  beforeAll(async () => {
    ({ store, close } = await openEngineStore());
  }, 120_000);
  afterAll(() => close(), 60_000);

  const apply = (change: Change, through = store) => {
    const options = { store: through, now: () => new Date(0), tombstoneDays: 30, checkpoint: () => {} };
    return applyChanges(options, change.id === 'con_1' ? 'contact' : 'message', [change]);
  };
  const shown = async () => (await store.read('message', ['msg_1']))[0]?.joined;

  it('writes nothing over what a visit has found right', async () => {
    // given a message that shows its author's name
    await apply(contact('Ada', 1));
    await apply(message);
    expect(await shown()).toMatchObject({ author: { name: 'Ada' } });
    // and a rename whose worker dies before anyone is told
    const died = new Error('died');
    const untold: Store = { ...store, dependents: () => Promise.reject(died) };
    await expect(apply(contact('Countess', 2), untold)).rejects.toBe(died);
    // and a worker on the message, that has read the new name, and stands still before it writes
    let stands = () => {};
    const standing = new Promise<void>((resolve) => (stands = resolve));
    let wake = () => {};
    const awake = new Promise<void>((resolve) => (wake = resolve));
    const slow: Store = {
      ...store,
      write: async (kind, writes) => {
        stands();
        await awake;
        await store.write(kind, writes);
        throw died;
      },
    };
    const late = apply(message, slow).catch((error: unknown) => error);
    await standing;
    // when the name goes back to what it was, all is told and committed, and that worker wakes up and dies
    await apply(contact('Ada', 3));
    await apply(message);
    wake();
    expect(await late).toBe(died);
    // then the message shows the name that is
    expect(await shown()).toMatchObject({ author: { name: 'Ada' } });
  }, 60_000);
});
