import { type GenerationRegistry, projectionVersion } from '../../../shared/control/generations.ts';
import { addToManifest, advance, withTransition } from '../../../shared/control/registry.ts';
import { activate, beginDrop, endDrop, register } from './transitions.ts';

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour));
const cause = (hour: number) => ({ by: 'ann@host', at: at(hour), why: 'test' });
const first: GenerationRegistry = {
  _id: 'active',
  form: 1,
  generation: 1,
  since: at(0),
  revision: 1,
  lastNumber: 1,
  history: [],
  generations: [{ number: 1, projectionVersion, state: 'active', since: at(0) }],
};
function statesOf({ generations }: GenerationRegistry) {
  const states: Record<number, string> = {};
  for (const { number, state } of generations) states[number] = state;
  return states;
}

type RegistryChange = (registry: GenerationRegistry) => GenerationRegistry;
function apply(registry: GenerationRegistry, ...changes: RegistryChange[]): GenerationRegistry {
  let changed = registry;
  for (const change of changes) changed = change(changed);
  return changed;
}
const ready = [
  register(cause(1), {}),
  advance(2, 'building', 'catching-up', cause(2)),
  advance(2, 'catching-up', 'ready', cause(3)),
];
const promote = (number: number, hour: number) => activate(number, cause(hour));

describe('the registry of generations', () => {
  test('never uses the number of a build again', () => {
    const promoted = apply(first, ...ready, promote(2, 4));
    expect(statesOf(promoted)).toEqual({ 1: 'standby', 2: 'active' });
    expect(promoted.generation).toBe(2);
    expect(promoted.history.map(({ generation, to }) => `${generation} ${to}`)).toEqual([
      '2 building',
      '2 catching-up',
      '2 ready',
      '1 standby',
      '2 active',
    ]);
    const back = apply(promoted, promote(1, 5));
    expect(statesOf(back)).toEqual({ 1: 'active', 2: 'standby' });
    const again = apply(back, beginDrop(2, cause(6)), endDrop(2, cause(7)), register(cause(8), {}));
    expect(statesOf(again)).toEqual({ 1: 'active', 2: 'dropped', 3: 'building' });
  });

  test('keeps no list of the collections of a dropped generation', () => {
    const listed = apply(first, ...ready, addToManifest(2, { tags: 'a' }));
    const dropping = apply(listed, beginDrop(2, cause(4)));
    expect(() => addToManifest(2, { tags: 'b', qas: 'c' })(dropping)).toThrow(
      'generation 2 is being dropped',
    );
    const dropped = apply(dropping, endDrop(2, cause(5)));
    expect(dropped.generations[1]).not.toHaveProperty('manifest');
    expect(() => addToManifest(2, { tags: 'b' })(dropped)).toThrow('generation 2 was dropped');
  });

  test('is unchanged by a repeated transition', () => {
    const promoted = apply(first, ...ready, promote(2, 4));
    expect(promote(2, 5)(promoted)).toBe(promoted);
    expect(advance(2, 'building', 'catching-up', cause(5))(promoted)).toBe(promoted);
  });

  test.each([
    ['a second build', () => apply(first, ...ready, register(cause(4), {})), '2 is being built already'],
    [
      'promotion while it loads',
      () => apply(first, register(cause(1), {}), promote(2, 2)),
      'generation 2 is building, not ready',
    ],
    ['a drop of the active one', () => beginDrop(1, cause(1))(first), '1 is active: promote another one'],
    [
      'promotion of an unknown one',
      () => promote(7, 1)(first),
      'there is no generation 7; the only generation is 1',
    ],
    [
      'promotion of a dropped one',
      () => apply(first, ...ready, beginDrop(2, cause(4)), promote(2, 5)),
      'generation 2 is being dropped; an interrupted drop',
    ],
  ])('refuses %s', (_, refused, message) => {
    expect(refused).toThrow(message);
  });
});

test('the history keeps the latest 1,000 transitions', () => {
  const transition = { generation: 1, from: null, to: 'active' as const, ...cause(1) };
  const history = Array.from({ length: 1_000 }, (_, index) => ({ ...transition, generation: index }));
  const kept = withTransition({ ...first, history }, { ...transition, generation: 1_000 }).history;
  expect({ count: kept.length, first: kept[0]?.generation, last: kept.at(-1)?.generation }).toEqual({
    count: 1_000,
    first: 1,
    last: 1_000,
  });
});
