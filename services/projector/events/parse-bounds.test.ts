import { BSON } from 'mongodb';
import { itemsMax } from '../../../shared/documents/fields.ts';
import { examples } from '../../../shared/documents/resources.ts';
import {
  boundedFields,
  boundedLists,
  boundedTexts,
  lengthMax,
} from '../../../tests/support/bounded-fields.ts';
import { attributes, record, withData } from '../../../tests/support/example-records.ts';
import { containing } from '../../../tests/support/matchers.ts';
import { mebibyte } from '../../../tests/support/memory.ts';
import { jsonBytesMax, jsonValuesMax } from './bytes.ts';
import { describeOversize, parse } from './parse.ts';

test('only the content of a message and an answer have no length limit', () => {
  const unbounded = boundedTexts.filter(({ issueAt }) => issueAt(1_000_000) === null);
  expect(unbounded.map(({ path }) => path).sort()).toEqual(['data.answer', 'data.content']);
});

test.each(boundedTexts.filter(({ path }) => !['data.content', 'data.answer'].includes(path)))(
  '$kind, $path: a text beyond its limit is rejected with path, rule and limit',
  ({ path, issueAt }) => {
    const limit = lengthMax(path);
    if (limit === undefined) throw new Error(`add the limit of ${path} to tests/support/bounded-fields.ts`);
    expect(issueAt(limit)).toBeNull();
    const issue = `${path.replaceAll(/\.\d+/g, '[]')}: must have ${limit} characters or fewer`;
    expect(issueAt(limit + 1)).toBe(issue);
    // A character of two UTF-16 units, which takes four bytes, counts twice.
    expect(issueAt(limit + 2, '😀')).toContain(issue);
  },
);

test.each(boundedLists)(
  '$kind, $path: a list beyond its limit is rejected without checking its elements',
  ({ path, value, issueWith }) => {
    const [element] = value as unknown[];
    expect(issueWith(Array(1_000).fill(element))).toBeNull();
    expect(issueWith(Array(1_001).fill(element))).toBe(`${path}: must have 1000 items or fewer`);
    // A list that an event may omit may also be null.
    const absent = issueWith(undefined) === null ? [] : [undefined, null];
    for (const invalid of [...absent, 'tag_1', { length: 1, 0: 'tag_1' }])
      expect(issueWith(invalid)).toContain(`${path}: Invalid input: expected array`);
    // Each invalid element would be one more issue, if it was checked.
    expect(issueWith(Array(1_000_000).fill(7))).toBe(`${path}: must have 1000 items or fewer`);
  },
);

test.each(boundedFields)('$kind, $path: a rejection never quotes the value', ({ issueWith }) => {
  expect(issueWith('canary') ?? '').not.toContain('canary');
});

const parseAnswer = (mebibytes: number) =>
  parse('qa', withData('qa', { ...examples.qa, answer: 'x'.repeat(mebibytes * mebibyte) }));

test('a state that is too large for a document is rejected with the limit', () => {
  expect(parseAnswer(8.1)).toEqual({
    rejected: { reason: 'too_large', detail: 'data: takes more than 8388608 bytes in MongoDB' },
  });
});

test('a state of several mebibytes that fits a document is accepted', () => {
  expect(parseAnswer(7.9)).toHaveProperty('change');
});

test('a state fits a document if its record is too small to be measured', () => {
  // The list that grows most in BSON, at its maximum length, and a text that fills the record.
  const attachments = Array.from({ length: itemsMax }, (_, index) => ({
    id: String(index),
    filename: '',
    inline: true,
  }));
  const state = { attachments, content: 'x'.repeat(mebibyte - JSON.stringify(attachments).length) };
  expect(JSON.stringify(state).length).toBeGreaterThan(mebibyte);

  expect(describeOversize(Infinity, state)).toBeNull();
  expect(BSON.calculateObjectSize(state)).toBeLessThan(1.1 * mebibyte);
});

describe('a value that takes much memory', () => {
  const parseValue = (value: string | Buffer) => parse('tag', record(Buffer.from(value)));
  /** The data of a tag with one more field, which the parser ignores. */
  const dataWith = (field: string) => `{"id":"tag_1","name":"A","further":${field}}`;
  const eventWith = (field: string) =>
    JSON.stringify(attributes).replace(/}$/, `,"data":${dataWith(field)}}`);
  /** An array that counts as this number of values or two more, by its commas and opening brackets. */
  const arrayOf = (values: number) => `[${'{},'.repeat(values / 2)}{}]`;

  test('is rejected before it is parsed', () => {
    const rejected = { rejected: { reason: 'too_large', detail: containing('value: ') } };
    // The bytes are no JSON, so only the size can be the reason.
    expect(parseValue(Buffer.alloc(jsonBytesMax + 1))).toMatchObject(rejected);
    expect(parseValue(Buffer.alloc(jsonBytesMax))).toMatchObject({ rejected: { reason: 'not_json' } });
    expect(parseValue(eventWith(arrayOf(jsonValuesMax)))).toMatchObject(rejected);
    expect(parseValue(eventWith(arrayOf(jsonValuesMax - 100)))).toHaveProperty('change');
  });

  test('is measured after base64 is decoded', () => {
    const data_base64 = Buffer.from(dataWith(arrayOf(jsonValuesMax))).toString('base64');
    expect(parseValue(JSON.stringify({ ...attributes, data_base64 }))).toMatchObject({
      rejected: { reason: 'too_large', detail: containing('data: ') },
    });
  });

  test('is not a long text of commas, brackets and quotes', () => {
    const text = JSON.stringify('",[{\\'.repeat(jsonValuesMax));
    expect(parseValue(eventWith(text))).toHaveProperty('change');
  });
});
