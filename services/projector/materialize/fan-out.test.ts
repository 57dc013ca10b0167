import type { Kind } from '../../../shared/documents/resources.ts';
import { emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import { changeOf, engineDeps } from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import { idPrefixes } from '../../../tests/support/events.ts';
import { idle } from '../../../tests/support/idle.ts';
import { applyTogether } from './fan-out.ts';
import type { Store } from './store.ts';

/** Applies one change of each kind together, to a store whose writes the test ends. */
function applyOneChangeOfEach(...kinds: Kind[]) {
  const memory = memoryStore(emptyData());
  const writing = new Map<Kind, PromiseWithResolvers<void>>();
  const write: Store['write'] = async (kind, writes) => {
    const gate = Promise.withResolvers<void>();
    writing.set(kind, gate);
    await gate.promise;
    return memory.write(kind, writes);
  };
  const chunks = kinds.map((kind) => ({ kind, changes: [changeOf(created(kind, `${idPrefixes[kind]}1`))] }));
  const applied = applyTogether(engineDeps({ ...memory, write }), chunks);
  const begun = async () => {
    for (let iteration = 0; iteration < 20; iteration += 1) await idle();
    return [...writing.keys()].sort();
  };
  return { applied, begun, writing };
}

describe('changes of several kinds that are applied together', () => {
  test('are written at the same time if the kinds do not refer to each other', async () => {
    const { applied, begun, writing } = applyOneChangeOfEach('ticket', 'message');
    expect(await begun()).toEqual(['message', 'ticket']);
    for (const { resolve } of writing.values()) resolve();
    await applied;
  });

  test('are written after the kinds to which they refer', async () => {
    const { applied, begun, writing } = applyOneChangeOfEach('ticket', 'conversation');
    expect(await begun()).toEqual(['conversation']);
    writing.get('conversation')?.resolve();
    expect(await begun()).toEqual(['conversation', 'ticket']);
    writing.get('ticket')?.resolve();
    await applied;
  });

  test('have all ended when the caller receives an error', async () => {
    const { applied, begun, writing } = applyOneChangeOfEach('ticket', 'message');
    await begun();
    let hasEnded = false;
    const ended = applied
      .catch(() => undefined)
      .then(() => {
        hasEnded = true;
      });
    writing.get('message')?.reject(new Error('lost'));
    await begun();
    expect(hasEnded).toBe(false);
    writing.get('ticket')?.resolve();
    await ended;
    await expect(applied).rejects.toThrow('lost');
  });
});
