import type { Kind } from '../../shared/documents/document.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { applyChanges } from '../../services/projector/materialize/engine.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { emptyData, memoryStore } from './memory-store.ts';

const died = new Error('died');

function changeOf(event: Event): { kind: Kind; change: Change } {
  const offset = event.version;
  const { key, value, headers } = encode(event, 'structured');
  const result = parse(event.kind, {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers,
    position: { partition: 0, offset, timestampMs: offset },
  });
  if ('rejected' in result) throw new Error(result.rejected.detail);
  return { kind: event.kind, change: result.change };
}

const deleted = (event: Event, version: number): Event => {
  const { data: _data, ...rest } = event;
  return { ...rest, version, op: 'deleted' };
};

/** A store in memory, and workers on it, each of which applies a run of events of one kind. */
function given() {
  const data = emptyData();
  const apply = async (events: Event[], pause?: (label: string) => Promise<void>) => {
    const changes = events.map((event) => changeOf(event));
    const [first] = changes;
    if (!first) return;
    const options = {
      store: memoryStore(data, pause),
      now: () => new Date(0),
      tombstoneDays: 30,
      checkpoint: () => undefined,
    };
    await applyChanges(
      options,
      first.kind,
      changes.map(({ change }) => change),
    );
  };
  /** A worker that stands still before the step `label`; woken up, it does that and dies. */
  const applyLate = async (events: Event[], label: string) => {
    let wake = () => {};
    const awake = new Promise<void>((resolve) => (wake = resolve));
    let stands = () => {};
    const standing = new Promise<void>((resolve) => (stands = resolve));
    let isDone = false;
    const end = apply(events, async (step) => {
      if (isDone) throw died;
      if (step !== label) return;
      isDone = true;
      stands();
      await awake;
    }).catch((error: unknown) => error);
    await standing;
    return async () => {
      wake();
      expect(await end).toBe(died);
    };
  };
  const joined = (kind: Kind, id: string) => data.get(kind)?.get(id)?.joined;
  return { apply, applyLate, joined };
}

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
const message = (id: string, second: number) =>
  created('message', id, { createdAt: at(second), content: id });

/** So rare that the simulation does not meet them: played step by step. */
describe('a worker that dies with a write under way', () => {
  it('leaves no later message as the first of its conversation', async () => {
    // given a conversation that shows the first of two messages
    const { apply, applyLate, joined } = given();
    const first = message('msg_1', 1);
    await apply([created('conversation', 'conv_1')]);
    await apply([first]);
    await apply([message('msg_3', 3)]);
    expect(joined('conversation', 'conv_1')).toMatchObject({ opening: { id: 'msg_1' } });
    // and a worker that deletes it, has found the next one, and stands still
    const wake = await applyLate([deleted(first, 2)], 'write conversation conv_1');
    // when one comes in between, and is applied
    await apply([message('msg_2', 2)]);
    // and that worker writes and dies, and its record is applied again
    await wake();
    await apply([deleted(first, 2)]);
    // then the conversation shows the first that is left
    expect(joined('conversation', 'conv_1')).toMatchObject({ opening: { id: 'msg_2' } });
  });

  it('leaves no conversation in a ticket from which it was moved', async () => {
    // given a worker that has found a new conversation of a ticket, and stands still before it writes that
    const { apply, applyLate, joined } = given();
    const before = created('conversation', 'conv_1', { ticketId: 'ti_1' });
    const after = created('conversation', 'conv_1', { ticketId: 'ti_2' }, 2);
    await apply([created('channel', 'chan_1')]);
    await apply([created('ticket', 'ti_1'), created('ticket', 'ti_2')]);
    const wake = await applyLate([before], 'write ticket ti_1');
    // when its partition is another's, who applies a move along with that record, and then it writes and dies
    await apply([before, after]);
    await wake();
    // then the conversation is where it was moved to, alone
    expect(joined('ticket', 'ti_1')).toMatchObject({ conversations: [] });
    expect(joined('ticket', 'ti_2')).toMatchObject({ conversations: [{ id: 'conv_1' }] });
  });

  it('leaves nothing of a message in its conversation that is deleted', async () => {
    // given a worker that has found the first message of a conversation, and stands still before it writes that
    const { apply, applyLate, joined } = given();
    await apply([created('conversation', 'conv_1')]);
    const wake = await applyLate([message('msg_1', 1)], 'write conversation conv_1');
    // when its partition is another's, who applies a deletion along with that record, and then it writes and dies
    await apply([message('msg_1', 1), deleted(message('msg_1', 1), 2)]);
    await wake();
    // then the conversation shows none
    expect(joined('conversation', 'conv_1')).toMatchObject({ opening: null });
  });
});
