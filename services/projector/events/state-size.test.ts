import { BSON } from 'mongodb';
import { itemsMax } from '../../../shared/documents/fields.ts';
import { describeOversize, parse } from './parse.ts';
import { attributes, bytes, record } from '../../../tests/support/example-records.ts';

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

test('a state that is too large for a document is rejected with its size', () => {
  expect(parse('qa', given({ answer: 'x'.repeat(8.1 * megabyte) }))).toEqual({
    rejected: { reason: 'too_large', detail: expect.stringMatching(/^data: takes \d{7,} bytes/) as string },
  });
});

test('a state of several megabytes that fits a document is accepted', () => {
  expect(parse('qa', given({ answer: 'x'.repeat(7.9 * megabyte) }))).toHaveProperty('change');
});

test('no state of a record below the measured size is too large', () => {
  // given the list that grows most in BSON, at its maximum length, and a text that fills the record
  const attachments = Array.from({ length: itemsMax }, (_, index) => ({
    id: String(index),
    filename: '',
    inline: true,
  }));
  const state = { attachments, content: 'x'.repeat(megabyte - JSON.stringify(attachments).length) };
  expect(JSON.stringify(state).length).toBeGreaterThan(megabyte);
  // then it is accepted because of its measured size
  expect(describeOversize(Infinity, state)).toBeNull();
  expect(BSON.calculateObjectSize(state)).toBeLessThan(1.1 * megabyte);
});
