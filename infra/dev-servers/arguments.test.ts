import { parseArguments, usage, verbs } from './arguments.ts';

describe('the command line of the stack', () => {
  test.each(verbs)('%s is a verb, and the help explains it', (verb) => {
    expect(parseArguments([verb])).toEqual({ verb });
    expect(usage).toMatch(new RegExp(`^  ${verb} `, 'm'));
  });

  test('help is help wherever it stands', () => {
    expect(parseArguments(['--help'])).toEqual({ help: true });
    expect(parseArguments(['up', '-h'])).toEqual({ help: true });
  });

  test('anything else is named as a fault', () => {
    expect(parseArguments([])).toEqual({ fault: 'No verb given.' });
    expect(parseArguments(['start'])).toEqual({ fault: 'Unknown verb: start' });
    expect(parseArguments(['up', 'now'])).toEqual({ fault: 'Not understood after up: now' });
  });
});
