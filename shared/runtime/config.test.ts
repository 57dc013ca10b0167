import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { useFolder } from '../../tests/support/use-opened.ts';
import { type Environment, orFile, readConfig } from './config.ts';
import { decimal, integer } from './settings.ts';

const settings = { KAFKA_BROKERS: z.string(), LATENESS_ALLOWANCE_SECONDS: decimal(0).default(5) };
const complete = { KAFKA_BROKERS: 'kafka:9092' };

describe('a variable that is not a setting', () => {
  test.each([
    ['LATENESS_ALLOWANCE_SECOND', 'LATENESS_ALLOWANCE_SECONDS'],
    ['LATENES_ALLOWANCE_SECONDS', 'LATENESS_ALLOWANCE_SECONDS'],
    ['KAFKA_BROKER', 'KAFKA_BROKERS'],
  ])('is reported if its name nearly matches a setting: %s', (name, near) => {
    expect(readConfig(settings, { ...complete, [name]: '7' })).toMatchObject({
      config: { LATENESS_ALLOWANCE_SECONDS: 5 },
      warnings: [`${name} is not a setting; did you mean ${near}?`],
    });
  });

  test('is reported together with the missing setting', () => {
    expect(readConfig(settings, { KAFKA_BROKER: 'kafka:9092' })).toEqual({
      errors: ['KAFKA_BROKERS is not set', 'KAFKA_BROKER is not a setting; did you mean KAFKA_BROKERS?'],
    });
  });

  test('is ignored if its name matches no setting', () => {
    const others = { KAFKA_HEAP_OPTS: '-Xmx1g', PATH: '/bin', BROKERS: 'x', LATENESS: '1' };
    expect(readConfig(settings, { ...complete, ...others })).toMatchObject({ warnings: [] });
  });
});

describe('a value', () => {
  const numbers = { ...settings, LIMIT: integer(0, 100).default(7) };
  const read = (environment: Environment) => readConfig(numbers, { ...complete, ...environment });

  test.each(['', ' ', '\r', '\t\n'])('of blanks, %j, counts as absent: no limit becomes 0', (blank) => {
    expect(read({ LIMIT: blank, LATENESS_ALLOWANCE_SECONDS: blank })).toMatchObject({
      config: { LIMIT: 7, LATENESS_ALLOWANCE_SECONDS: 5 },
    });
    expect(read({ KAFKA_BROKERS: blank })).toEqual({ errors: ['KAFKA_BROKERS is not set'] });
  });

  test('counts without the blanks around it, such as the carriage return of a file from Windows', () => {
    expect(
      read({ KAFKA_BROKERS: 'kafka:1\r', LIMIT: ' 30 ', LATENESS_ALLOWANCE_SECONDS: '0.5\r' }),
    ).toMatchObject({ config: { KAFKA_BROKERS: 'kafka:1', LIMIT: 30, LATENESS_ALLOWANCE_SECONDS: 0.5 } });
  });

  test.each([
    ['0x10', 'LIMIT: must be a whole number'],
    ['1e1', 'LIMIT: must be a whole number'],
    ['1.5', 'LIMIT: must be a whole number'],
    ['"30"', 'LIMIT: must be a whole number'],
    ['-1', 'LIMIT: must be 0 or more'],
    ['101', 'LIMIT: must be 100 or less'],
  ])('of a number is digits: %s is an error', (value, error) => {
    expect(read({ LIMIT: value })).toEqual({ errors: [error] });
  });
});

describe('a setting that a file may contain', () => {
  const folder = useFolder();
  const file = (name: string, text: string) => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    return path;
  };
  const secret = { PASSWORD: z.string().regex(/^\S+$/, 'must be one word').meta(orFile), USER: z.string() };
  const read = (environment: Environment, check?: (changes: Environment) => string[]) =>
    readConfig(secret, { USER: 'ann', ...environment }, check);

  test.each([
    ['without a line break', 'hunter2'],
    ['with the line break of an editor', 'hunter2\n'],
    ['with the line break of Windows', 'hunter2\r\n'],
    ['with blanks around it', ' hunter2 \n\n'],
  ])('is read %s', (_, text) => {
    expect(read({ PASSWORD_FILE: file('password', text) })).toMatchObject({
      config: { PASSWORD: 'hunter2' },
    });
  });

  test.each([
    ['cannot be read', { PASSWORD_FILE: '/nowhere' }, 'PASSWORD_FILE: the file cannot be read, or is empty'],
    ['is a folder', { PASSWORD_FILE: '/' }, 'PASSWORD_FILE: the file cannot be read, or is empty'],
    [
      'is given beside the value',
      { PASSWORD: 'a', PASSWORD_FILE: '/nowhere' },
      'PASSWORD and PASSWORD_FILE are both set',
    ],
  ])('is one error if the file %s', (_, environment, error) => {
    const check = ({ PASSWORD }: Environment) => (PASSWORD ? [] : ['PASSWORD is not set, but USER is']);
    expect(read(environment, check)).toEqual({ errors: [error] });
  });

  test('is checked as if it were a variable, and its text is not repeated', () => {
    expect(read({ PASSWORD_FILE: file('empty', '\n') })).toEqual({
      errors: ['PASSWORD_FILE: the file cannot be read, or is empty'],
    });
    expect(read({ PASSWORD_FILE: file('two', 'two words') })).toEqual({
      errors: ['PASSWORD: must be one word'],
    });
    expect(read({ PASSWORD: 'a', PASSWORD_FIL: '/x' })).toMatchObject({
      warnings: ['PASSWORD_FIL is not a setting; did you mean PASSWORD_FILE?'],
    });
  });

  test('is a setting that opts in: other names that end in _FILE mean nothing', () => {
    expect(read({ PASSWORD: 'a', USER_FILE: '/nowhere' })).toMatchObject({ config: { USER: 'ann' } });
  });
});
