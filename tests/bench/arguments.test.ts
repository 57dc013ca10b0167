import { parseArguments } from './arguments.ts';

describe('the arguments of npm run bench', () => {
  it('measures projecting three times unless told otherwise, and once with --quick', () => {
    expect(parseArguments([])).toEqual({
      bench: {
        name: 'projecting',
        options: { quick: false, rounds: 3, only: null, json: null, writeDocs: false },
      },
    });
    expect(parseArguments(['projecting', '--quick', '--only', 'live,discard'])).toEqual({
      bench: {
        name: 'projecting',
        options: { quick: true, rounds: 1, only: ['live', 'discard'], json: null, writeDocs: false },
      },
    });
    expect(parseArguments(['traces', '--connections', '4'])).toEqual({
      bench: { name: 'traces', options: { rounds: 20, connections: 4 } },
    });
  });

  it.each([
    [['nonsense'], 'nonsense'],
    [['projecting', 'traces'], 'traces'],
    [['--fast'], '--fast'],
    [['--rounds', '0'], '--rounds takes a whole number from 1 to 100; given: 0'],
    [['--rounds', '1.5'], 'given: 1.5'],
    [['--only', 'discard,bulk'], '--only bulk'],
    [['--json', '/no/such/folder/file.json'], '/no/such/folder'],
    [['--write-docs', '--quick'], '--quick'],
    [['--write-docs', '--only', 'live'], '--only'],
    [['--connections', '3'], '--connections'],
    [['traces', '--quick'], '--quick'],
    [['traces', '--connections', 'many'], 'given: many'],
  ])('names what is wrong with %j', (given, offender) => {
    expect(parseArguments(given)).toEqual({ usageError: expect.stringContaining(offender) as string });
  });
});
