import { parseArguments } from './arguments.ts';

test('without options the demo shows a medium desk, always the same', () => {
  expect(parseArguments([])).toEqual({ size: 'medium', seed: 1, quiet: false });
});

test('options choose the desk', () => {
  const given = ['--size', 'large', '--seed=42', '--quiet'];
  expect(parseArguments(given)).toEqual({ size: 'large', seed: 42, quiet: true });
});

test.each([['--help'], ['-h']])('%s asks for help, whatever else is there', (word) => {
  expect(parseArguments([word, '--size', 'huge'])).toEqual({ help: true });
});

test.each([
  [['--size', 'huge'], '--size takes small, medium, large'],
  [['--size'], '--size'],
  [['--size', 'toString'], '--size takes'],
  [['--seed', 'one'], '--seed takes a whole number'],
  [['--seed', '-1'], '--seed'],
  [['--sizes', 'small'], '--sizes'],
  [['small'], 'small'],
])('%j is refused with a line that names the fault', (given, named) => {
  expect(parseArguments(given)).toEqual({ fault: expect.stringContaining(named) as string });
});
