import type { KafkaRecord } from './change.ts';
import {
  ce,
  binary,
  position,
  rawHeaders,
  record,
  structured,
  tag,
  tagBytes,
  upperCase,
} from '../../../tests/support/example-records.ts';
import { parse } from './parse.ts';

const deleted = 'support.tag.deleted.v1';
const time = new Date('2026-01-01T00:00:00.500Z');
const known = { id: 'tag_1', orgId: 'org_1', version: 3, time, position };
const upsert = { change: { op: 'upsert', ...known, state: tag } };
const deletion = { change: { op: 'delete', ...known } };
const tombstone = {
  change: { op: 'tombstone', id: 'tag_1', time: new Date(position.timestampMs), position },
};
describe('content modes', () => {
  test.each<[string, KafkaRecord]>([
    ['structured without a content type', structured()],
    ['structured', structured({}, 'application/cloudevents+json')],
    [
      'structured, in another case, with parameters',
      structured({}, ' Application/CloudEvents+JSON ; charset=UTF-8'),
    ],
    [
      'structured, with headers of the binary mode',
      { ...structured(), headers: rawHeaders(ce({ id: 'x', subject: 'tag_2' })) },
    ],
    [
      'structured with a byte order mark',
      record(Buffer.concat([Buffer.from('\uFEFF'), structured().value ?? tagBytes()])),
    ],
    [
      'structured with data in base64',
      structured({ data: undefined, data_base64: tagBytes().toString('base64') }),
    ],
    [
      'structured with another datacontenttype',
      structured({ datacontenttype: 'application/vnd.support.tag' }),
    ],
    ['structured and created', structured({ type: 'support.tag.created.v1' })],
    ['binary', binary(tagBytes())],
    ['binary with another content type', binary(tagBytes(), {}, { 'content-type': 'text/plain' })],
    [
      'binary with header names in another case',
      record(tagBytes(), upperCase({ 'content-type': 'application/json', ...ce() })),
    ],
    ['binary with headers as strings', binary(tagBytes(), {}, { ce_id: 'evt_2', 'content-type': 'a/b' })],
    [
      'binary with a header that occurs twice with one value',
      binary(tagBytes(), {}, { ce_id: ['evt_1', Buffer.from('evt_1')] }),
    ],
    [
      'binary with invalid unknown headers',
      binary(tagBytes(), {}, { ce_trace: ['a', 'b'], other: Buffer.from([0xff]) }),
    ],
  ])('%s is parsed as an upsert', (_, given) => {
    expect(parse('tag', given)).toEqual(upsert);
  });

  test.each<[string, KafkaRecord, object]>([
    ['structured, deleted', structured({ type: deleted, data: undefined }), deletion],
    ['structured, deleted, with data that is ignored', structured({ type: deleted, data: 'x' }), deletion],
    ['binary, deleted, null value', binary(null, { type: deleted }), deletion],
    ['binary, deleted, null value and no content type', record(null, ce({ type: deleted })), deletion],
    ['binary, deleted, with bytes that are ignored', binary(Buffer.from('{'), { type: deleted }), deletion],
    ['a null value', record(null), tombstone],
    [
      'a null value with other headers',
      record(null, { 'content-type': 'application/json', trace: 'a' }),
      tombstone,
    ],
    ['a null value with headers of another event type', binary(null), tombstone],
  ])('%s is parsed as a deletion', (_, given, expected) => {
    expect(parse('tag', given)).toEqual(expected);
  });

  test('empty and unknown headers are ignored', () => {
    const odd = { ...ce(), constructor: [null, Buffer.from('a')], ce_extra: null, 'content-type': null };
    expect(parse('tag', { ...structured(), headers: rawHeaders(odd) })).toEqual(upsert);
  });
});
