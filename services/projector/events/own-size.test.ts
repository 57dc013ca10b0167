import { BSON } from 'mongodb';
import { sizeFault } from './own-size.ts';
import { attributes, bytes, record } from './example-records.ts';
import { parse } from './parse.ts';

const megabyte = 1024 * 1024;
const qa = (fields: object) => ({
  id: 'qa_1',
  question: 'How?',
  questionVariations: [],
  answer: 'So.',
  createdAt: attributes.time,
  updatedAt: attributes.time,
  ...fields,
});
const given = (fields: object) => {
  const event = { ...attributes, type: 'support.qa.updated.v1', subject: 'qa_1', data: qa(fields) };
  return record(bytes(event), {}, 'qa_1');
};

test.each([
  ['a text', { answer: 'x'.repeat(8.1 * megabyte) }],
  [
    'many small ones, which take more in the store than on the bus',
    { questionVariations: Array<string>(800_000).fill('') },
  ],
])('a state that no document can hold is set aside with its size: %s', (_, fields) => {
  expect(parse('qa', given(fields))).toEqual({
    rejected: { reason: 'too_large', detail: expect.stringMatching(/^data: takes \d{7,} bytes/) as string },
  });
});

test('a state of several megabytes that a document can hold is accepted', () => {
  expect(parse('qa', given({ answer: 'x'.repeat(7.9 * megabyte) }))).toHaveProperty('change');
});

test('nothing that is too large is below the size from which records are looked at', () => {
  // given the form of a value that grows most, as large as one that is not looked at
  const texts = Array<string>(Math.floor(megabyte / 3)).fill('');
  expect(JSON.stringify(texts).length).toBeGreaterThan(megabyte - 10);
  // then it is accepted for what it takes, not for want of a look
  const own = { questionVariations: texts };
  expect(sizeFault(Infinity, own)).toBeNull();
  expect(BSON.calculateObjectSize(own)).toBeGreaterThan(4 * megabyte);
});
