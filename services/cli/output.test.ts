import { inOneColumn, lines, onOneLine, printable, rows, table } from './output.ts';

/** A name as a customer may give it: it would end its row, hide the next one and set the title of the window. */
const hostile = 'a\nkey_2  org_2  archived\x1b[8m\x1b]0;title\x07\u202e';
const shown = 'a\\u000akey_2  org_2  archived\\u001b[8m\\u001b]0;title\\u0007\\u202e';

it('a value of the bus stays on its line, and changes nothing on the terminal', () => {
  expect(printable(onOneLine(hostile))).toBe(shown);
  expect(printable(lines([hostile, 'b']))).toBe(`${shown}\nb\n`);
  expect(printable(rows([['name', hostile]]))).toBe(`name         ${shown}\n`);
  expect(printable(table(['name'], [[hostile]]))).toBe(`name\n${shown}\n`);
});

it.each(['key_2  org_1  live', ' key_1', 'key_1 ', '', '"key_1"', 'a\n\nb', '\u00a0\u00a0'])(
  '%j, which could look like several columns, is one in quotes',
  (value) => {
    expect(inOneColumn(value)).toBe(JSON.stringify(value));
  },
);

it('other values of a column stay as they are', () => {
  expect(['key_1', 'Export of tickets', 'Müller'].map(inOneColumn)).toEqual([
    'key_1',
    'Export of tickets',
    'Müller',
  ]);
});

it.each(['\r', '\t', '\x1b', '\x7f', '\x9b', '\u061c', '\u200f', '\u2028', '\u2066'])(
  '%j is shown by its code',
  (unit) => {
    expect(printable(unit)).toBe(`\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  },
);

it('line ends, other languages and the value of JSON stay as they are', () => {
  expect(printable('Müller 語 👩‍💻\nשלום')).toBe('Müller 語 👩‍💻\nשלום');
  const value = { name: hostile };
  expect(JSON.parse(printable(JSON.stringify(value, null, 2)))).toEqual(value);
});
