import { parseArguments, usage, verbs } from './arguments.ts';

describe('the arguments of npm run stack', () => {
  test.each(verbs)('%s is a verb, and the help explains it', (verb) => {
    expect(parseArguments([verb])).toEqual({ verb });
    expect(usage).toMatch(new RegExp(`^  ${verb} `, 'm'));
  });

  test('a request for help counts at any position', () => {
    expect(parseArguments(['--help'])).toEqual({ help: true });
    expect(parseArguments(['up', '-h'])).toEqual({ help: true });
  });

  test('anything else is a usage error that names the argument', () => {
    expect(parseArguments([])).toEqual({ usageError: 'A verb is missing.' });
    expect(parseArguments(['start'])).toEqual({ usageError: 'Unknown verb: start' });
    expect(parseArguments(['up', 'now'])).toEqual({ usageError: 'Unexpected after up: now' });
  });
});
