import { parseArguments } from './arguments.ts';

test('without options the demo uses medium sample data, always the same, and shows no rebuild', () => {
  expect(parseArguments([])).toEqual({ size: 'medium', seed: 1, rebuild: false, quiet: false });
});

test('options choose the sample data and what is shown', () => {
  const args = ['--size', 'large', '--seed=42', '--rebuild', '--quiet'];
  expect(parseArguments(args)).toEqual({ size: 'large', seed: 42, rebuild: true, quiet: true });
});

test.each([['--help'], ['-h']])('%s prints help, whatever the other arguments are', (option) => {
  expect(parseArguments([option, '--size', 'huge'])).toEqual({ help: true });
});

test.each([
  [['--size', 'huge'], '--size must be one of small, medium, large'],
  [['--size'], '--size'],
  [['--size', 'toString'], '--size must be'],
  [['--seed', 'one'], '--seed must be a whole number'],
  [['--seed', '-1'], '--seed'],
  [['--sizes', 'small'], '--sizes'],
  [['small'], 'small'],
])('%j is a usage error that names the option', (args, named) => {
  expect(parseArguments(args)).toEqual({ usageError: expect.stringContaining(named) as string });
});
