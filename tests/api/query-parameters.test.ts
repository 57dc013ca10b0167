import { ticketStatuses } from '../../shared/documents/ticket.ts';
import * as build from './builders.ts';
import { errorOf, useApi } from './test-api.ts';

const api = useApi({
  conversation: [build.conversation({ id: 'conv_1' })],
  ticket: ['ti_1', 'ti_2'].map((id) => build.ticket({ id })),
});

const lists = ['/v1/tickets', '/v1/conversations/conv_1/messages', '/v1/channels', '/v1/knowledge/qa'];
const dates = ['createdAt[gte]', 'createdAt[lte]', 'updatedAt[gte]', 'updatedAt[lte]'];
const words = (text: string) => text.split(' ');
const badLimits = ['', ' 5', ...words('0 101 -1 +5 1.5 1e1 0x10 ten ٣ 99999999999999999999 NaN')];
const badDates = [
  '',
  '2026-01-01 00:00:00Z',
  ...words('now 2026 2026-13-01 2026-02-30 2026-01-01T 2026-01-01T00:00:00 2026-01-01T24:00:01Z'),
  ...words(
    '2026-01-01T00:00:00+25:00 2026-01-01T00:00:00Zx +012026-01-01T00:00:00Z 01/02/2026 1767225600 %00',
  ),
];
const badStatuses = [
  '',
  'open ',
  ' open',
  ...words('Open OPEN open,closed open|closed deleted archived assumed-resolved null * %00 %ff'),
];
const badSorts = [
  '',
  'createdAt ',
  ...words(
    'id - createdAt,updatedAt --createdAt +updatedAt UpdatedAt createdat created_at -id title %00 %ff',
  ),
];
const badTypes = ['', 'email ', ...words('sms Email EMAIL email,form widget chat forms null 0 * %00 %ff')];
const badCursors = [
  '',
  'a'.repeat(3_000),
  ...words('0 null abc = W10 WzFd e30 W251bGxd ../../etc/passwd %00 %ff'),
];

const names = ['page', 'Limit', 'limit[]', '__proto__', 'constructor', 'toString', 'starting_after', ''];
const each = (list: string, name: string, values: string[]) =>
  values.map((value) => [list, name, value] as const);
const bad = [
  ...lists.flatMap((list) => each(list, 'limit', badLimits)),
  ...dates.flatMap((name) => each('/v1/tickets', name, badDates)),
  ...each('/v1/tickets', 'status', badStatuses),
  ...each('/v1/tickets', 'sort', badSorts),
  ...each('/v1/channels', 'type', badTypes),
  ...lists.flatMap((list) => names.flatMap((name) => each(list, name, ['1']))),
  ['/v1/tickets', 'status[]', 'open'] as const,
  ['/v1/tickets', 'createdAt[gt]', '2026-01-01'] as const,
  ['/v1/channels', 'sort', 'createdAt'] as const,
];

test.each(bad)('%s refuses %s = %j and names the parameter', async (list, name, value) => {
  const text = value.startsWith('%') ? value : encodeURIComponent(value);
  const answer = await api.get(`${list}?${encodeURIComponent(name)}=${text}`);
  expect(answer.status).toBe(422);
  expect(errorOf(answer)).toMatchObject({
    type: 'validation_error',
    code: 'invalid_query_parameter',
    param: name,
  });
});

test.each([
  ...lists.map((list) => [list, 'limit=1&limit=2', 'limit']),
  ...lists.map((list) => [list, 'startingAfter=a&startingAfter=b', 'startingAfter']),
  ['/v1/tickets', 'sort=createdAt&sort=createdAt', 'sort'],
  ['/v1/tickets', 'createdAt[gte]=2026-01-01&createdAt[gte]=2026-01-01', 'createdAt[gte]'],
  ['/v1/tickets', 'status=open&status=nope', 'status'],
  ['/v1/channels', 'type=form&type=form', 'type'],
])('%s?%s is refused', async (list, query, param) => {
  const answer = await api.get(`${list}?${query}`);
  expect([answer.status, errorOf(answer).param]).toEqual([422, param]);
});

test.each([
  'limit=1',
  'limit=100',
  'limit=007',
  ...ticketStatuses.map((status) => `status=${status}`),
  'status=open&status=open',
  'createdAt%5Bgte%5D=2026-01-01T00:00:00Z',
  'createdAt[gte]=2026-01-01T00:00:00.123456789%2B02:00',
  'updatedAt[lte]=2026-01-01T00:00:00+02:00',
  'updatedAt[lte]=2026-01-01',
])('/v1/tickets?%s is accepted', async (query) => {
  expect((await api.get(`/v1/tickets?${query}`)).status).toBe(200);
});

test('bounds on both dates are a conflict', async () => {
  const answer = await api.get('/v1/tickets?createdAt[gte]=2026-01-01&updatedAt[lte]=2026-01-01');
  expect([answer.status, errorOf(answer)]).toMatchObject([422, { code: 'conflicting_date_range' }]);
  expect(errorOf(answer)).not.toHaveProperty('param');
});

test.each(['/v1/tickets/', '/v1/conversations/'])(
  'ids below %s need the prefix and a remainder',
  async (path) => {
    const prefix = path.includes('tickets') ? 'ti_' : 'conv_';
    for (const id of [
      prefix,
      'x',
      prefix.toUpperCase() + '1',
      `x${prefix}1`,
      `${prefix}%00`,
      prefix + 'x'.repeat(256),
    ]) {
      const answer = await api.get(path + id);
      expect([id, answer.status, errorOf(answer).code]).toEqual([id, 422, 'invalid_path_parameter']);
    }
    expect((await api.get(path + prefix + 'x'.repeat(256 - prefix.length))).status).toBe(404);
  },
);

test.each(lists.flatMap((list) => badCursors.map((value) => [list, value])))(
  '%s refuses startingAfter = %j as a cursor',
  async (list, value) => {
    const text = value.startsWith('%') ? value : encodeURIComponent(value);
    const answer = await api.get(`${list}?startingAfter=${text}`);
    expect([answer.status, answer.json()]).toMatchObject([422, { error: { type: 'validation_error' } }]);
    expect(['invalid_cursor', 'invalid_query_parameter']).toContain(errorOf(answer).code);
  },
);
