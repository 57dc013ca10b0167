import { redactHeaders, redactKey } from './redact-headers.ts';

const valueOf = (name: string, value: string | Buffer) =>
  redactHeaders([{ name, value: Buffer.from(value) }])[0]?.value;

test.each([
  ['content-type', 'application/cloudevents+json; charset=utf-8'],
  ['CE_Type', 'support.contact.updated.v1'],
  ['ce_subject', 'con_1'],
  ['ce_orgid', 'org_1'],
  ['ce_entityversion', '17'],
  ['ce_time', '2026-05-04T03:02:01Z'],
])('the header %s is shown if its value has the expected form', (name, value) => {
  expect(valueOf(name, value)).toBe(value);
});

test.each([
  ['content-type', 'text/jane@example.com'],
  ['ce_subject', 'jane@example.com'],
  ['ce_entityversion', 'svc_live_1'],
  ['ce_tokenSha256', '2026-05-04T03:02:01Z'],
  ['ce_name', 'Jane'],
  ['authorization', 'svc_live_1'],
  ['ce_type', Buffer.from([0xff, 0xfe])],
])('of the header %s only the size is shown if its value is %p', (name, value) => {
  expect(valueOf(name, value)).toBe(`<${value.length} bytes>`);
});

test('of an unusual header name only the size is shown', () => {
  expect(redactHeaders([{ name: 'jane@example.com', value: null }])).toEqual([
    { name: '<16 bytes>', value: 'null' },
  ]);
});

test('a key is shown if it is an id of the kind, and has no characters of a name or an address', () => {
  expect(redactKey('contact', Buffer.from('con_1'))).toBe('con_1');
  expect(redactKey('contact', Buffer.from('tag_1'))).toBe('<5 bytes>');
  expect(redactKey('tag', Buffer.from('jane@example.com'))).toBe('<16 bytes>');
  expect(redactKey('tag', Buffer.from([0xff]))).toBe('<1 byte>');
  expect(redactKey(null, Buffer.from('con_1'))).toBe('<5 bytes>');
  expect(redactKey('contact', null)).toBe('null');
});
