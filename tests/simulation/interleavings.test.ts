import type { Kind } from '../../shared/documents/document.ts';
import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { UpdateDeps } from '../../services/projector/materialize/fan-out.ts';
import { changeOf, deletionOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { emptyData, memoryStore } from './memory-store.ts';

const died = new Error('died');

/** A store in memory, and workers on it, each of which applies a run of events of one kind. */
function given() {
  const data = emptyData();
  const apply = async (
    events: Event[],
    { pause, ...others }: Partial<UpdateDeps> & { pause?: (label: string) => Promise<void> } = {},
  ) => {
    const [first] = events;
    if (!first) return;
    const deps = engineDeps(memoryStore(data, pause), others);
    await applyChanges(
      deps,
      first.kind,
      events.map((event) => changeOf(event)),
    );
  };
  /** A worker that stands still before the step `label`; woken up, it goes on, or does that and dies. */
  const applyLate = async (events: Event[], label: string, fate: 'dies' | 'goes on') => {
    let wake = () => {};
    const awake = new Promise<void>((resolve) => (wake = resolve));
    let stands = () => {};
    const standing = new Promise<void>((resolve) => (stands = resolve));
    let isDone = false;
    const pause = async (step: string) => {
      if (isDone && fate === 'dies') throw died;
      if (step !== label) return;
      isDone = true;
      stands();
      await awake;
    };
    const end = apply(events, { pause }).then(
      () => 'goes on',
      (error: unknown) => error,
    );
    await standing;
    return async () => {
      wake();
      expect(await end).toBe(fate === 'dies' ? died : 'goes on');
    };
  };
  const stored = (kind: Kind, id: string) => data.get(kind)?.get(id);
  /** What the sweep leaves of a document whose retention has passed. */
  const free = (kind: Kind, id: string) => {
    const { orgId = null, version = 0, revision = 0, position: at = null } = stored(kind, id) ?? {};
    const freed: StoredDocument = {
      _id: id,
      orgId,
      version,
      revision: revision + 1,
      position: at,
      expiresAt: new Date(9),
    };
    data.get(kind)?.set(id, freed);
    return freed;
  };
  return { apply, applyLate, stored, free };
}

const conversation = (version: number, changes: Record<string, unknown> = {}) =>
  created('conversation', 'conv_1', changes, version);

/** So rare that the simulation does not meet them: played step by step. */
describe('a worker that dies with a write in progress', () => {
  it('leaves no conversation in a ticket from which it was moved', async () => {
    // given a worker that has found a new conversation of a ticket, and stands still before it writes that
    const { apply, applyLate, stored } = given();
    const before = conversation(1, { ticketId: 'ti_1' });
    const after = conversation(2, { ticketId: 'ti_2' });
    await apply([created('channel', 'chan_1')]);
    await apply([created('ticket', 'ti_1'), created('ticket', 'ti_2')]);
    const wake = await applyLate([before], 'write ticket ti_1', 'dies');
    // when its partition is another's, who applies a move along with that record, and then it writes and dies
    await apply([before, after]);
    await wake();
    // then the conversation is where it was moved to, alone
    expect(stored('ticket', 'ti_1')?.joined).toMatchObject({ conversations: [] });
    expect(stored('ticket', 'ti_2')?.joined).toMatchObject({ conversations: [{ id: 'conv_1' }] });
  });
});

describe('a worker that remembers what it referred to', () => {
  it('keeps no message whose conversation another worker has deleted meanwhile', async () => {
    // given a worker that has seen a conversation live
    const { apply, stored } = given();
    const { cache } = engineDeps(memoryStore(emptyData()));
    await apply([conversation(1)]);
    await apply([created('message', 'msg_1')], { cache });
    // when another one deletes it, and a message comes to the first
    await apply([deletionOf(conversation(1), 2)]);
    await apply([created('message', 'msg_2')], { cache });
    // then neither is kept
    for (const id of ['msg_1', 'msg_2']) {
      expect(stored('message', id)).toHaveProperty('deletedAt');
      expect(stored('message', id)).not.toHaveProperty('state');
    }
  });
});

describe('a document whose state was freed', () => {
  it('is written back by no worker that had read it before', async () => {
    // given a worker that is about to show a rename in a message
    const { apply, applyLate, stored, free } = given();
    await apply([created('contact', 'con_1')]);
    await apply([created('message', 'msg_1')]);
    const renamed = created('contact', 'con_1', { name: 'Countess' }, 2);
    const wake = await applyLate([renamed], 'write message msg_1', 'goes on');
    // when the sweep frees the message before that
    const freed = free('message', 'msg_1');
    await wake();
    // then nothing of it is stored again
    expect(stored('message', 'msg_1')).toEqual(freed);
  });

  it.each([
    ['an older version', conversation(1)],
    ['an older tombstone', { ...deletionOf(conversation(1), 1), op: 'tombstone' as const }],
  ])('is not deleted by %s that is read again, and comes back with a later one', async (_, older) => {
    const { apply, stored, free } = given();
    await apply([created('channel', 'chan_1')]);
    await apply([created('ticket', 'ti_1')]);
    await apply([conversation(1), conversation(2)]);
    const freed = free('conversation', 'conv_1');
    // when the log is read again from its beginning, of which no position counts as applied
    await apply([older]);
    // then it is as it was, but for that write
    const { tombstonePosition: _cut, ...after } = stored('conversation', 'conv_1') ?? {};
    expect(after).toEqual({ ...freed, revision: expect.any(Number) as number });
    // and the rest of the log brings it back, and what is shown of it
    await apply([conversation(2)]);
    expect(stored('conversation', 'conv_1')).toMatchObject({ version: 2, state: { id: 'conv_1' } });
    free('conversation', 'conv_1');
    await apply([older]);
    await apply([conversation(3)]);
    expect(stored('conversation', 'conv_1')).toMatchObject({ version: 3, state: { id: 'conv_1' } });
    expect(stored('conversation', 'conv_1')).not.toHaveProperty('expiresAt');
    expect(stored('ticket', 'ti_1')?.joined).toMatchObject({ conversations: [{ id: 'conv_1' }] });
  });

  it('takes no messages along: they count as without a conversation until it comes back', async () => {
    const { apply, stored, free } = given();
    await apply([conversation(1)]);
    await apply([created('message', 'msg_1')]);
    expect(stored('message', 'msg_1')).not.toHaveProperty('orphanedAt');
    free('conversation', 'conv_1');
    await apply([created('message', 'msg_1', {}, 2), created('message', 'msg_2')]);
    for (const id of ['msg_1', 'msg_2'])
      expect(stored('message', id)).toMatchObject({ state: { id }, orphanedAt: new Date(0) });
  });
});
