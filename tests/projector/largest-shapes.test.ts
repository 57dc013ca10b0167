import { recordFields } from '../../services/projector/dead-letters/dead-letter.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { openBatch } from '../../services/projector/partition/open-batch.ts';
import { attributes, type Headers, rawHeaders } from '../support/example-records.ts';
import { rawBatch } from '../support/example-responses.ts';
import { mebibyte } from '../support/memory.ts';

const envelope = JSON.stringify({ ...attributes, type: 'support.message.updated.v1' }).slice(0, -1);
const event = (data: string, more = '') => `${envelope},"data":${data}${more}}`;
/** A message with this field. It replaces a field of the same name: in JSON the last value counts. */
const message = (field: string) =>
  event(`{"id":"msg_1","content":"x","attachments":[],"createdAt":"2026-01-01T00:00:00Z",${field}}`);
const nested = (bytes: number, open: string, close: string) =>
  open.repeat(bytes / (open.length + close.length)) +
  '1' +
  close.repeat(bytes / (open.length + close.length));
const fields = (bytes: number) =>
  Array.from({ length: bytes / 12 }, (_, index) => `,"a${index.toString(36)}":1`).join('');

/** A record of about this size: its value, its key and its headers. */
type Shape = (bytes: number) => { value: string; key?: string; headers?: Headers };
const shapes: Record<string, Shape> = {
  'nested lists': (bytes) => ({ value: event(nested(bytes, '[', ']')) }),
  'nested objects': (bytes) => ({ value: event(nested(bytes, '{"data":', '}')) }),
  'nesting in an ignored attribute': (bytes) => ({ value: event('{}', `,"x":${nested(bytes, '[', ']')}`) }),
  'a long number': (bytes) => ({ value: message(`"content":${'1'.repeat(bytes)}`) }),
  'halves of surrogate pairs': (bytes) => ({ value: message(`"content":"${'\\ud800'.repeat(bytes / 6)}"`) }),
  'a long text': (bytes) => ({ value: message(`"content":"${'\\n '.repeat(bytes / 3)}"`) }),
  'a long time': (bytes) => ({ value: message(`"createdAt":"2026-01-01T00:00:00.${'0'.repeat(bytes)}Z"`) }),
  'many attributes': (bytes) => ({ value: event('{}', fields(bytes)) }),
  'many fields': (bytes) => ({ value: event(`{"id":1${fields(bytes)}}`) }),
  'a repeated field': (bytes) => ({ value: event(`{${'"id":1,'.repeat(bytes / 7)}"id":2}`) }),
  'many elements': (bytes) => ({ value: message(`"attachments":[${'1,'.repeat(bytes / 2)}1]`) }),
  'ids in bytes that are not JSON': (bytes) => ({ value: 'a_msg_conv_'.repeat(bytes / 11) }),
  'data in base64': (bytes) => ({ value: event('null', `,"data_base64":"${'A'.repeat(bytes)}="`) }),
  'a long key': (bytes) => ({ value: message('"content":"x"'), key: 'k'.repeat(bytes) }),
  'a long header': (bytes) => ({ value: '{}', headers: { 'content-type': ' '.repeat(bytes) } }),
  'many headers of one name': (bytes) => ({
    value: '{}',
    headers: { ce_id: Array<string>(bytes / 8).fill('a') },
  }),
  'many headers': (bytes) => ({
    value: '{}',
    headers: Object.fromEntries(Array.from({ length: bytes / 8 }, (_, index) => [index.toString(36), ''])),
  }),
};

/** Decodes and parses a record, and builds its dead letter. Returns the processor seconds of the best of three runs. */
async function processorSeconds(shape: Shape, bytes: number): Promise<number> {
  const { value, key = 'msg_1', headers = {} } = shape(bytes);
  const record = { offset: 0, key, value: Buffer.from(value), headers: rawHeaders(headers) };
  const batch = rawBatch({ baseOffset: 0, lastOffset: 0, records: [record] });
  const seconds: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const before = process.cpuUsage();
    const { records, error } = (await openBatch(0, batch.bytes)).read({ index: 0, count: 0 }, 1, Infinity);
    expect({ records: records.length, error }).toEqual({ records: 1, error: undefined });
    for (const parsedRecord of records) {
      parse('message', parsedRecord);
      recordFields('support.messages', 'support.', parsedRecord);
    }
    const { user, system } = process.cpuUsage(before);
    seconds.push((user + system) / 1e6);
  }
  return Math.min(...seconds);
}

/** Shorter processor times are inexact, because the kernel measures them in steps. */
const exactFromSeconds = 0.01;

test.each(Object.entries(shapes))(
  'the processor time for %s grows with the size, not with its square',
  async (_, shape) => {
    const small = Math.max(exactFromSeconds, await processorSeconds(shape, mebibyte / 16));
    const large = await processorSeconds(shape, mebibyte);
    // Quadratic code would do 256 times the work for 16 times the size.
    expect(large / small).toBeLessThan(80);
  },
);
