import { record } from '../events/example-records.ts';
import { subjectsOf } from './subjects.ts';

const message = { id: 'msg_1', conversationId: 'conv_1', content: 'as in conv_2 and msg_2', type: 7 };
const event = { specversion: '1.0', subject: 'msg_1', data: message };
const messageRecord = (value: string) => ({ ...record(Buffer.from(value)), key: Buffer.from('msg_1') });

test('a record is about the entities that its fields name, not about those that its texts mention', () => {
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
