import { record } from '../../../tests/support/example-records.ts';
import { subjectsOf } from './subjects.ts';

const message = { id: 'msg_1', conversationId: 'conv_1', content: 'as in conv_2 and msg_2', type: 7 };
const event = { specversion: '1.0', subject: 'msg_1', data: message };
const messageRecord = (value: string) => ({ ...record(Buffer.from(value)), key: Buffer.from('msg_1') });

test('the subjects of a record are the entities that its id fields name', () => {
  expect(subjectsOf('message', messageRecord(JSON.stringify(event)))).toEqual(['msg_1', 'conv_1']);
});

test.each([
  ['cannot be read', JSON.stringify(event).slice(0, -1)],
  ['lacks a field', JSON.stringify({ ...event, data: { ...message, conversationId: { id: 'conv_1' } } })],
])('a record that %s is about every entity that its bytes name', (_, value) => {
  expect(subjectsOf('message', messageRecord(value)).sort()).toEqual(
    ['msg_1', 'conv_1', 'conv_2', 'msg_2'].filter((id) => value.includes(id)).sort(),
  );
});

const unreadable = (text: string, key: Buffer | null = null, headers = {}) => ({
  ...record(Buffer.from(text), headers),
  key,
});

test('an unreadable record has as subjects the ids that are whole words in its value or headers', () => {
  const unreadableRecord = unreadable('{"a":"xconv_1 my-conv_2 conv_3', null, { ce_subject: 'conv_4' });
  expect(subjectsOf('conversation', unreadableRecord).sort()).toEqual(['conv_3', 'conv_4']);
});

test('a record has at most 100 subjects', () => {
  const ids = Array.from({ length: 200 }, (_, index) => `conv_${index}`);
  expect(subjectsOf('conversation', unreadable(ids.join(' ')))).toEqual(ids.slice(0, 100));
});

test.each([
  ['longer than an id may be', Buffer.from('conv_'.padEnd(257, 'x')), []],
  ['not UTF-8', Buffer.from([0xff]), []],
  ['as long as an id may be', Buffer.from('conv_'.padEnd(256, 'x')), ['conv_'.padEnd(256, 'x')]],
])('a key that is %s counts only if it can be an id', (_, key, expected) => {
  expect(subjectsOf('conversation', unreadable('', key))).toEqual(expected);
});

test.each(['tag', null] as const)(
  'a record of kind %s, whose ids have no prefix, has only its key as a subject',
  (kind) => {
    expect(subjectsOf(kind, unreadable('tag_1 conv_1', Buffer.from('tag_2')))).toEqual(['tag_2']);
  },
);
