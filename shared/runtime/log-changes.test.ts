import { logChanges } from './log-changes.ts';

test('logs each change once, with the value before', () => {
  const debug = jest.fn();
  const log = logChanges({ debug }, 'registry', { generation: 2 });
  for (const active of [1, 1, 2]) log({ active });
  expect(debug.mock.calls).toEqual([
    [{ generation: 2, before: null, after: { active: 1 } }, 'registry'],
    [{ generation: 2, before: { active: 1 }, after: { active: 2 } }, 'registry'],
  ]);
});
