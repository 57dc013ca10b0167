import { escapeHidden, inOneColumn, lines, onOneLine, rows, table } from './output.ts';

/** A name as a customer may give it: it would end its row, hide the next one and set the title of the window. */
const hostile = 'a\nkey_2  org_2  archived\x1b[8m\x1b]0;title\x07\u202e';
const shown = 'a\\u000akey_2  org_2  archived\\u001b[8m\\u001b]0;title\\u0007\\u202e';

test('a value from Kafka stays on its line without an effect on the terminal', () => {
  expect(escapeHidden(onOneLine(hostile))).toBe(shown);
  expect(escapeHidden(lines([hostile, 'b']))).toBe(`${shown}\nb\n`);
  expect(escapeHidden(rows([['name', hostile]]))).toBe(`name         ${shown}\n`);
  expect(escapeHidden(table(['name'], [[hostile]]))).toBe(`name\n${shown}\n`);
});

test.each([
  ...['key_2  org_1  live', ' key_1', 'key_1 ', ' ', '', '"key_1"', 'a\nb', '\u00a0\u00a0', '\u0301key_1'],
  ...['key_b1\u2800\u2800org_b', 'key\u3164_1', 'key\u2003_1', 'key_zw\u200b1', 'key\u00ad_1', 'key\ufeff_1'],
])('%j is in quotes, because it could look like several columns', (value) => {
  expect(inOneColumn(value)).toBe(JSON.stringify(value));
});

test('other values of a column are unchanged', () => {
  expect(['key_1', 'Export of tickets', 'Müller'].map(inOneColumn)).toEqual([
    'key_1',
    'Export of tickets',
    'Müller',
  ]);
});

test.each([
  ...[
    '\r',
    '\t',
    '\x1b',
    '\x7f',
    '\x9b',
    '\u061c',
    '\u200f',
    '\u2028',
    '\u2066',
    '\u200b',
    '\u200d',
    '\u2060',
  ],
  ...[
    '\ufeff',
    '\u00ad',
    '\u3164',
    '\u2800',
    '\u00a0',
    '\u2003',
    '\u3000',
    '\ufe0f',
    '\ue000',
    '\ud800',
    '\u0378',
  ],
])('%j is shown by its code', (unit) => {
  expect(escapeHidden(unit)).toBe(`\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
});

test('a character beyond the first 65,536 is shown by both of its codes, as JSON has it', () => {
  expect(escapeHidden('a\u{e0041}')).toBe('a\\udb40\\udc41');
  expect(JSON.parse(escapeHidden(JSON.stringify('a\u{e0041}')))).toBe('a\u{e0041}');
});

test('two keys that a terminal would draw alike are distinguished', () => {
  const drawn = ['key_zw1', 'key_zw\u200b1', 'key_zw\\u200b1'].map((id) => escapeHidden(inOneColumn(id)));
  expect(new Set(drawn).size).toBe(3);
});

test('line ends, other languages and JSON are unchanged', () => {
  const text = 'Müller 語 👩 €5 (½) → …\nשלום हिन्दी';
  expect(escapeHidden(text)).toBe(text);
  const value = { name: hostile };
  expect(JSON.parse(escapeHidden(JSON.stringify(value, null, 2)))).toEqual(value);
});
