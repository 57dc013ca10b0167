import type { KafkaRecord } from './change.ts';
import {
  attributes,
  bytes,
  binary,
  position,
  record,
  structured,
  tagBytes,
  type Given,
} from '../../../tests/support/example-records.ts';
import { parse } from './parse.ts';

const deleted = 'support.tag.deleted.v1';
const rejected = (reason: string, detail: string | RegExp) => ({
  rejected: { reason, detail: expect.stringMatching(detail) as string },
});

describe('the envelope', () => {
  test.each([
    ['an integer', 1, 1],
    ['a string of digits', '12', 12],
    ['the largest there is', '9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('entityversion may be %s', (_, entityversion, version) => {
    expect(parse('tag', structured({ entityversion }))).toMatchObject({ change: { version } });
    expect(parse('tag', binary(tagBytes(), { entityversion }))).toMatchObject({ change: { version } });
  });

  test.each([undefined, null])('time may be %s: the timestamp of the record counts then', (none) => {
    expect(parse('tag', structured({ time: none }))).toMatchObject({
      change: { time: new Date(position.timestampMs) },
    });
  });

  test.each<[string, Given, string, string | RegExp]>([
    ['no specversion', { specversion: undefined }, 'bad_envelope', 'specversion: '],
    ['another specversion', { specversion: '0.3' }, 'bad_envelope', 'specversion: '],
    ['an empty id', { id: '' }, 'bad_envelope', 'id: '],
    ['a source with blanks', { source: 'no uri' }, 'bad_envelope', 'source: '],
    ['no type', { type: undefined }, 'bad_envelope', 'type: '],
    ['a later schema', { type: 'support.tag.updated.v2' }, 'unknown_type', /^type: must be support\.tag\./],
    ['another entity', { type: 'support.topic.updated.v1' }, 'unknown_type', 'type: '],
    ['another verb', { type: 'support.tag.renamed.v1' }, 'unknown_type', 'type: '],
    [
      'a subject that is not the key',
      { subject: 'tag_2' },
      'key_mismatch',
      'subject: must equal the record key',
    ],
    ['an empty subject', { subject: '' }, 'bad_envelope', 'subject: '],
    ['an invalid time', { time: '2026-02-30T00:00:00Z' }, 'bad_envelope', 'time: '],
    ['a time without an offset', { time: '2026-02-03T00:00:00' }, 'bad_envelope', 'time: '],
    ['no organization', { orgid: undefined }, 'bad_envelope', 'orgid: '],
    ['an organization without its prefix', { orgid: 'acme' }, 'bad_envelope', 'orgid: must be org_'],
    ['an organization that is only a prefix', { orgid: 'org_' }, 'bad_envelope', 'orgid: must be org_'],
    ['version 0', { entityversion: 0 }, 'bad_envelope', 'entityversion: must be an integer'],
    ['version 1.5', { entityversion: 1.5 }, 'bad_envelope', 'entityversion: '],
    ['version -1', { entityversion: '-1' }, 'bad_envelope', 'entityversion: '],
    ['version 0x1', { entityversion: '0x1' }, 'bad_envelope', 'entityversion: '],
    ['a version with other digits', { entityversion: '\u0663' }, 'bad_envelope', 'entityversion: '],
    ['no version', { entityversion: undefined }, 'bad_envelope', 'entityversion: '],
    ['version 2^53', { entityversion: 2 ** 53 }, 'bad_envelope', 'must not exceed'],
    ['version 2^53 in digits', { entityversion: '9007199254740992' }, 'bad_envelope', 'must not exceed'],
    ['a version of 400 digits', { entityversion: '9'.repeat(400) }, 'bad_envelope', 'must not exceed'],
  ])('%s is rejected in both content modes', (_, given, reason, detail) => {
    expect(parse('tag', structured(given))).toEqual(rejected(reason, detail));
    expect(parse('tag', binary(tagBytes(), given))).toEqual(rejected(reason, detail));
  });

  test.each<[string, KafkaRecord, string, string | RegExp]>([
    ['an empty value', record(Buffer.alloc(0)), 'not_json', 'value: must not be empty'],
    ['a value that is not JSON', record(Buffer.from('{')), 'not_json', 'value: must be JSON'],
    [
      'a value that is not UTF-8',
      record(Buffer.from([0x22, 0xff, 0x22])),
      'not_json',
      'value: must be UTF-8',
    ],
    [
      'a surrogate in UTF-8',
      record(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])),
      'not_json',
      'value: must be UTF-8',
    ],
    ['JSON that is not an object', record(Buffer.from('[1]')), 'bad_envelope', 'value: must be an object'],
    ['the JSON null', record(Buffer.from('null')), 'bad_envelope', 'value: must be an object'],
    [
      'an envelope in __proto__',
      record(Buffer.from(`{"__proto__":${bytes(attributes).toString()}}`)),
      'bad_envelope',
      'type',
    ],
    ['a key that is null', { ...structured(), key: null }, 'key_mismatch', 'key: '],
    ['a key that is not UTF-8', { ...structured(), key: Buffer.from([0xff]) }, 'key_mismatch', 'key: '],
    ['a tombstone on an empty key', record(null, {}, ''), 'key_mismatch', 'key: '],
    ['a content type of neither mode', structured({}, 'application/json'), 'bad_envelope', 'headers: '],
    ['a batch of events', structured({}, 'application/cloudevents-batch+json'), 'bad_envelope', 'headers: '],
    [
      'a header with two values',
      binary(tagBytes(), {}, { ce_type: ['a', 'b'] }),
      'bad_envelope',
      'header ce_type: ',
    ],
    ['a header in two cases', binary(tagBytes(), {}, { CE_ID: 'b' }), 'bad_envelope', 'header ce_id: '],
    [
      'a header that is not UTF-8',
      binary(tagBytes(), {}, { ce_id: Buffer.from([0xff]) }),
      'bad_envelope',
      'header ce_id',
    ],
    [
      'two content types',
      record(null, { 'content-type': ['a/b', 'c/d'] }),
      'bad_envelope',
      'header content-type: ',
    ],
    ['binary data that is not JSON', binary(Buffer.from('<tag/>')), 'not_json', 'data: must be JSON'],
    ['binary data that is empty', binary(Buffer.alloc(0)), 'not_json', 'data: must not be empty'],
    ['base64 data that is not JSON', structured({ data: null, data_base64: 'AAAA' }), 'not_json', 'data: '],
    [
      'base64 data that is not base64',
      structured({ data: null, data_base64: 'e30' }),
      'bad_envelope',
      'data_base64',
    ],
    ['data in both forms', structured({ data_base64: 'e30=' }), 'bad_envelope', 'data_base64: excludes data'],
    [
      'a deletion of a later schema',
      binary(null, { type: 'support.tag.deleted.v2' }),
      'unknown_type',
      'type: ',
    ],
    [
      'a deletion of another entity',
      binary(null, { type: 'support.user.deleted.v1' }),
      'unknown_type',
      'type: ',
    ],
    [
      'a deletion without a version',
      binary(null, { type: deleted, entityversion: undefined }),
      'bad_envelope',
      'entityversion',
    ],
  ])('%s is rejected', (_, given, reason, detail) => {
    expect(parse('tag', given)).toEqual(rejected(reason, detail));
  });
});
