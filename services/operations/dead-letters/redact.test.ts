import { redactRecord } from './redact.ts';

const redacted = (value: unknown) => redactRecord(Buffer.from(JSON.stringify(value)));

const channel = {
  specversion: '1.0',
  id: 'evt_1',
  source: '/support/product',
  type: 'support.channel.updated.v1',
  subject: 'chan_1',
  orgid: 'org_1',
  entityversion: 3,
  time: '2026-05-04T03:02:01Z',
  data: {
    id: 'chan_1',
    type: 'email',
    name: 'Billing of Jane',
    createdAt: '2026-05-04T03:02:01.123456789+02:00',
    dataRetentionDays: 30,
    settings: { aiSummary: { enabled: true }, utmTagging: { enabled: true, source: 'mail from jane' } },
    email: {
      inbox: 'jane@example.com',
      provider: 'microsoft',
      connection: { status: 'connected', credentials: { user: 'hunter2' }, syncState: { n: 424242 } },
    },
    chatbot: { identitySecret: 'hunter2', allowedDomains: ['jane.example.com'] },
    phoneNumber: 5550100,
    'jane@example.com': 'hunter2',
  },
};

test('a redacted record shows its attributes, ids, enumerated words and timestamps', () => {
  const text = redacted(channel);
  for (const kept of [
    'support.channel.updated.v1',
    'chan_1',
    'org_1',
    'microsoft',
    'connected',
    '"dataRetentionDays": 30',
  ])
    expect(text).toContain(kept);
  expect(text).toContain('2026-05-04T03:02:01.123456789+02:00');
});

test('a redacted record shows no secret, no text by a person and no name', () => {
  const text = redacted(channel);
  for (const hidden of ['hunter2', '424242', '5550100', 'jane', 'Jane']) expect(text).not.toContain(hidden);
  expect(JSON.parse(text)).toMatchObject({
    data: {
      name: '[redacted 15 chars]',
      email: { connection: { credentials: '[redacted]', syncState: '[redacted]' } },
      '[other fields]': 2,
    },
  });
});

test.each([
  ['a token under the name of an id', { id: 'svc_live_abc def@example.com' }],
  ['a token under the name of an enumerated word', { status: 'Svc_live_4711' }],
  ['the hash of a token', { data: { tokenSha256: 'svc_live_4711' } }],
  ['a bare text', 'svc_live_4711'],
  ['a bare list', ['svc_live_4711']],
  ['a name that the prototype has', { constructor: 'svc_live_4711', toString: 'svc_live_4711' }],
])('%s is not shown', (_, value) => {
  expect(redacted(value)).not.toContain('svc_live');
});

test('of a value that is not JSON only the size is shown', () => {
  expect(redactRecord(Buffer.from('jane@example.com'))).toBe('<16 bytes, not JSON>');
  expect(redactRecord(Buffer.from([0xff, 0xfe]))).toBe('<2 bytes, not JSON>');
  expect(redactRecord(null)).toBe('null');
});

test('a redacted record stays short, however deep or long the record is', () => {
  const deep = Buffer.from(`${'{"data":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
  expect(redactRecord(deep)).toContain('[too deep]');
  expect(redacted({ data: { tagIds: Array.from({ length: 10_000 }, () => 'tag') } })).toContain(
    '[9950 more]',
  );
});
