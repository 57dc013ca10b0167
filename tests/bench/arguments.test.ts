import { parseArguments } from './arguments.ts';

describe('the arguments of npm run bench', () => {
  it('reads a benchmark and its options, and measures projecting unless told otherwise', () => {
    expect(parseArguments([])).toEqual({
      bench: {
        name: 'projecting',
        options: { quick: false, rounds: 3, only: null, json: null, writeDocs: false },
      },
    });
    expect(parseArguments(['projecting', '--quick', '--only', 'live,connector'])).toEqual({
      bench: {
        name: 'projecting',
        options: { quick: true, rounds: 1, only: ['live', 'connector'], json: null, writeDocs: false },
      },
    });
    expect(parseArguments(['serving', '--tickets', '500,20', '--only', 'bare,api'])).toEqual({
      bench: {
        name: 'serving',
        options: {
          ...{ quick: false, rounds: 3, only: ['bare', 'api'], json: null, writeDocs: false },
          ...{ connections: 32, tickets: [20, 500] },
        },
      },
    });
    expect(parseArguments(['rebuild', '--records', '20000'])).toEqual({
      bench: {
        name: 'rebuild',
        options: { quick: false, rounds: 3, records: 20_000, json: null, writeDocs: false },
      },
    });
    expect(parseArguments(['traces', '--connections', '4'])).toEqual({
      bench: { name: 'traces', options: { rounds: 20, connections: 4 } },
    });
    expect(parseArguments(['memory', '--records', '228000'])).toEqual({
      bench: { name: 'memory', options: { records: 228_000, delayMs: 1_500 } },
    });
  });

  it.each([
    [['nonsense'], 'nonsense'],
    [['projecting', 'traces'], 'traces'],
    [['--fast'], '--fast'],
    [['--rounds', '0'], '--rounds takes a whole number from 1 to 100; given: 0'],
    [['--rounds', '1.5'], 'given: 1.5'],
    [['--only', 'connector,bulk'], '--only bulk'],
    [['--json', '/no/such/folder/file.json'], '/no/such/folder'],
    [['--write-docs', '--quick'], '--quick'],
    [['--write-docs', '--only', 'live'], '--only'],
    [['--connections', '3'], '--connections'],
    [['traces', '--quick'], '--quick'],
    [['memory', '--rounds', '2'], '--rounds'],
    [['--delay', '5'], '--delay'],
    [['--records', '5000'], '--records'],
    [['rebuild', '--records', '10'], 'given: 10'],
    [['rebuild', '--only', 'rebuild'], '--only'],
    [['--tickets', '5'], '--tickets'],
    [['serving', '--tickets', '5,x'], 'given: x'],
    [['serving', '--only', 'discard'], '--only discard: known are bare'],
    [['traces', '--connections', 'many'], 'given: many'],
  ])('names what is wrong with %j', (given, offender) => {
    expect(parseArguments(given)).toEqual({ usageError: expect.stringContaining(offender) as string });
  });
});
