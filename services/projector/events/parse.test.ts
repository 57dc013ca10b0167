import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import {
  attributes,
  binary,
  bytes,
  ce,
  type Given,
  position,
  record,
  structured,
  tag,
  tagBytes,
  withUpperCaseNames,
} from '../../../tests/support/example-records.ts';
import { matching } from '../../../tests/support/matchers.ts';
import { parse } from './parse.ts';

const deleted = 'support.tag.deleted.v1';
const time = new Date('2026-01-01T00:00:00.500Z');
const fields = { id: 'tag_1', orgId: 'org_1', version: 3, time, position };
const upsert = { change: { op: 'upsert', ...fields, state: tag } };
const deletion = { change: { op: 'delete', ...fields } };
const tombstone = {
  change: { op: 'tombstone', id: 'tag_1', time: new Date(position.timestampMs), position },
};
describe('content modes', () => {
  test.each<[string, KafkaRecord]>([
    ['structured without a content type', structured()],
    ['structured', structured({}, 'application/cloudevents+json')],
    ['structured with parameters', structured({}, ' Application/CloudEvents+JSON ; charset=UTF-8')],
    ['structured in another format by name', structured({}, 'application/cloudevents; charset=utf-8')],
    ['structured, the content type of JSON', structured({}, 'application/json')],
    [
      'structured and binary',
      record(structured().value, {
        'content-type': 'application/cloudevents+json',
        ...ce({ subject: 'tag_2' }),
      }),
    ],
    ['binary without a content type', record(tagBytes(), ce())],
    ['with a BOM', record(Buffer.concat([Buffer.from('\uFEFF'), structured().value ?? tagBytes()]))],
    ['structured in base64', structured({ data: undefined, data_base64: tagBytes().toString('base64') })],
    ['structured, another data type', structured({ datacontenttype: 'application/vnd.support.tag' })],
    ['structured and created', structured({ type: 'support.tag.created.v1' })],
    ['binary', binary(tagBytes())],
    ['binary with another content type', binary(tagBytes(), {}, { 'content-type': 'text/plain' })],
    [
      'binary, upper case',
      record(tagBytes(), withUpperCaseNames({ 'content-type': 'application/json', ...ce() })),
    ],
    ['binary with headers as strings', binary(tagBytes(), {}, { ce_id: 'evt_2', 'content-type': 'a/b' })],
    ['binary, one header twice', binary(tagBytes(), {}, { ce_id: ['evt_1', Buffer.from('evt_1')] })],
    ['binary, odd headers', binary(tagBytes(), {}, { ce_trace: ['a', 'b'], other: Buffer.from([0xff]) })],
  ])('%s is parsed as an upsert', (_, received) => {
    expect(parse('tag', received)).toEqual(upsert);
  });

  test.each<[string, KafkaRecord, object]>([
    ['structured, deleted', structured({ type: deleted, data: undefined }), deletion],
    ['structured, deleted, with data that is ignored', structured({ type: deleted, data: 'x' }), deletion],
    ['binary, deleted, null value', binary(null, { type: deleted }), deletion],
    ['binary, deleted, null value and no content type', record(null, ce({ type: deleted })), deletion],
    ['binary, deleted, empty value', binary(Buffer.alloc(0), { type: deleted }), deletion],
    ['binary, deleted, JSON null', record(Buffer.from('null'), ce({ type: deleted })), deletion],
    ['binary, deleted, JSON text', record(Buffer.from('""'), ce({ type: deleted })), deletion],
    ['binary, deleted, with bytes that are ignored', binary(Buffer.from('{'), { type: deleted }), deletion],
    ['a null value', record(null), tombstone],
    ['null, other headers', record(null, { 'content-type': 'application/json', trace: 'a' }), tombstone],
    ['a null value with headers of another event type', binary(null), tombstone],
  ])('%s is parsed as a deletion', (_, received, expected) => {
    expect(parse('tag', received)).toEqual(expected);
  });

  test('empty and unknown headers are ignored', () => {
    const odd = { ...ce(), constructor: [null, Buffer.from('a')], ce_extra: null, 'content-type': null };
    expect(parse('tag', record(tagBytes(), odd))).toEqual(upsert);
  });
});

const rejected = (detail: string | RegExp, reason = 'bad_envelope') => ({
  rejected: { reason, detail: matching(detail) },
});

describe('the envelope', () => {
  test.each([
    ['an integer', 1, 1],
    ['a string of digits', '12', 12],
    ['the largest version', '9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('entityversion may be %s', (_, entityversion, version) => {
    expect(parse('tag', structured({ entityversion }))).toMatchObject({ change: { version } });
    expect(parse('tag', binary(tagBytes(), { entityversion }))).toMatchObject({ change: { version } });
  });

  test.each([undefined, null])('an event whose time is %s takes the timestamp of its record', (absent) => {
    expect(parse('tag', structured({ time: absent }))).toMatchObject({
      change: { time: new Date(position.timestampMs) },
    });
  });

  test.each<[name: string, given: Given, detail: string | RegExp, reason?: string]>([
    ['no specversion', { specversion: undefined }, 'specversion: '],
    ['another specversion', { specversion: '0.3' }, 'specversion: '],
    ['an empty id', { id: '' }, 'id: '],
    ['a source with blanks', { source: 'no uri' }, 'source: '],
    ['no type', { type: undefined }, 'type: '],
    ['a later schema', { type: 'support.tag.updated.v2' }, /^type: must be support\.tag\./, 'unknown_type'],
    ['another entity', { type: 'support.topic.updated.v1' }, 'type: ', 'unknown_type'],
    ['another verb', { type: 'support.tag.renamed.v1' }, 'type: ', 'unknown_type'],
    [
      'a subject that is not the key',
      { subject: 'tag_2' },
      'subject: must equal the record key',
      'key_mismatch',
    ],
    ['an empty subject', { subject: '' }, 'subject: '],
    ['an invalid time', { time: '2026-02-30T00:00:00Z' }, 'time: '],
    ['a time without an offset', { time: '2026-02-03T00:00:00' }, 'time: '],
    ['no organization', { orgid: undefined }, 'orgid: '],
    ['an organization without its prefix', { orgid: 'acme' }, 'orgid: must be org_'],
    ['an organization that is only a prefix', { orgid: 'org_' }, 'orgid: must be org_'],
    ['version 0', { entityversion: 0 }, 'entityversion: must be an integer'],
    ['version 1.5', { entityversion: 1.5 }, 'entityversion: '],
    ['version -1', { entityversion: '-1' }, 'entityversion: '],
    ['version 0x1', { entityversion: '0x1' }, 'entityversion: '],
    ['a version with other digits', { entityversion: '\u0663' }, 'entityversion: '],
    ['no version', { entityversion: undefined }, 'entityversion: '],
    ['version 2^53', { entityversion: 2 ** 53 }, 'must not exceed'],
    ['version 2^53 in digits', { entityversion: '9007199254740992' }, 'must not exceed'],
    ['a version of 400 digits', { entityversion: '9'.repeat(400) }, 'must not exceed'],
  ])('%s is rejected in both content modes', (_, attributeChanges, ...expected) => {
    expect(parse('tag', structured(attributeChanges))).toEqual(rejected(...expected));
    expect(parse('tag', binary(tagBytes(), attributeChanges))).toEqual(rejected(...expected));
  });

  test.each<[name: string, given: KafkaRecord, detail: string | RegExp, reason?: string]>([
    ['an empty value', record(Buffer.alloc(0)), 'value: must not be empty', 'not_json'],
    ['a value that is not JSON', record(Buffer.from('{')), 'value: must be JSON', 'not_json'],
    ['a value not in UTF-8', record(Buffer.from([0x22, 0xff, 0x22])), 'value: must be UTF-8', 'not_json'],
    ['a surrogate', record(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), 'value: must be UTF-8', 'not_json'],
    ['JSON that is not an object', record(Buffer.from('[1]')), 'value: must be an object'],
    ['the JSON null', record(Buffer.from('null')), 'value: must be an object'],
    [
      'an event in __proto__',
      record(Buffer.from(`{"__proto__":${bytes(attributes).toString()}}`)),
      'specversion: ',
    ],
    ['a key that is null', { ...structured(), key: null }, 'key: ', 'key_mismatch'],
    ['a key that is not UTF-8', { ...structured(), key: Buffer.from([0xff]) }, 'key: ', 'key_mismatch'],
    ['a tombstone on an empty key', record(null, {}, ''), 'key: ', 'key_mismatch'],
    [
      'an event of neither mode',
      record(tagBytes(), { 'content-type': 'application/json', 'ce-id': 'evt_1' }),
      /^specversion: is missing; there is no header ce_specversion$/,
    ],
    ['an event without headers', record(tagBytes()), 'specversion: is missing'],
    [
      'a batch of events',
      record(bytes([attributes]), { 'content-type': 'application/cloudevents-batch+json' }),
      /^value: must be an object .*; there is no header ce_specversion$/,
    ],
    ['a header with two values', binary(tagBytes(), {}, { ce_type: ['a', 'b'] }), 'header ce_type: '],
    ['a header in two cases', binary(tagBytes(), {}, { CE_ID: 'b' }), 'header ce_id: '],
    ['a header that is not UTF-8', binary(tagBytes(), {}, { ce_id: Buffer.from([0xff]) }), 'header ce_id'],
    ['1,001 headers', binary(tagBytes(), {}, { x: Array<null>(1_001).fill(null) }), '', 'headers_too_large'],
    ['two content types', record(null, { 'content-type': ['a/b', 'c/d'] }), 'header content-type: '],
    ['binary data that is not JSON', binary(Buffer.from('<tag/>')), 'data: must be JSON', 'not_json'],
    ['binary data that is empty', binary(Buffer.alloc(0)), 'data: must not be empty', 'not_json'],
    ['base64 data that is not JSON', structured({ data: null, data_base64: 'AAAA' }), 'data: ', 'not_json'],
    ['base64 data that is not base64', structured({ data: null, data_base64: 'e30' }), 'data_base64'],
    ['data in both forms', structured({ data_base64: 'e30=' }), 'data_base64: excludes data'],
    ['a later deletion', binary(null, { type: 'support.tag.deleted.v2' }), 'type: ', 'unknown_type'],
    ['another deletion', binary(null, { type: 'support.user.deleted.v1' }), 'type: ', 'unknown_type'],
    ['no version, deleted', binary(null, { type: deleted, entityversion: undefined }), 'entityversion'],
  ])('%s is rejected', (_, received, ...expected) => {
    expect(parse('tag', received)).toEqual(rejected(...expected));
  });
});
