import { createLogger } from '../../shared/runtime/logger.ts';
import { enumerated, filteredQueries, lists, now, oneOfEach, urls } from './every-route.ts';
import { errorOf, listOf, useApi } from './test-api.ts';

/** Logs the cause of an answer with status 500. */
const logger = createLogger('api', 'error');
const api = useApi(oneOfEach(), { now, logger });

const paths = lists.map(({ url }) => url);
const dates = ['createdAt[gte]', 'createdAt[lte]', 'updatedAt[gte]', 'updatedAt[lte]'];
const words = (text: string) => text.split(' ');
const badLimits = ['', ' 5', ...words('0 101 -1 +5 1.5 1e1 0x10 ten ٣ 99999999999999999999 NaN')];
const badDates = ['', ...words('now 2026-02-30 2026-01-01T00:00:00 %00')];
/** Values that no closed set contains. */
const badValues = ['', ...words('- deleted unknown widget createdAt,updatedAt null 0 * %00 %ff')];
/** Each value in another spelling. */
const misspelled = (value: string) => [
  `${value} `,
  ` ${value}`,
  value.toUpperCase(),
  `+${value}`,
  `${value},${value}`,
  `--${value}`,
];

const unknownNames = ['Limit', 'limit[]', '__proto__', 'constructor', 'toString', 'starting_after', ''];

type Parameter = { path: string; name: string; value: string };

function refusedParameters(): Parameter[] {
  const parameters: Parameter[] = [
    ...urls.map((path) => ({ path, name: 'page', value: '2' })),
    { path: '/v1/tickets', name: 'status[]', value: 'open' },
    { path: '/v1/tickets', name: 'createdAt[gt]', value: '2026-01-01' },
    { path: '/v1/channels', name: 'sort', value: 'createdAt' },
  ];
  for (const path of paths) {
    for (const value of badLimits) parameters.push({ path, name: 'limit', value });
    for (const name of unknownNames) parameters.push({ path, name, value: '1' });
  }
  for (const name of dates) {
    for (const value of badDates) parameters.push({ path: '/v1/tickets', name, value });
  }
  for (const { url, name, values } of enumerated) {
    for (const value of [...badValues, ...misspelled(values[0] ?? '')])
      parameters.push({ path: url, name, value });
  }
  return parameters;
}

test.each(refusedParameters())(
  '$path refuses $name = "$value" with an error that names the parameter',
  async ({ path, name, value }) => {
    const text = value.startsWith('%') ? value : encodeURIComponent(value);
    const answer = await api.get(`${path}?${encodeURIComponent(name)}=${text}`);
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({
      type: 'validation_error',
      code: 'invalid_query_parameter',
      param: name,
    });
  },
);

test.each([
  { path: '/v1/tickets', name: 'status[]', message: 'for several values, repeat `status`.' },
  { path: '/v1/tickets', name: 'status[0]', message: 'for several values, repeat `status`.' },
  { path: '/v1/tickets', name: 'createdAt[gt]', message: 'did you mean `createdAt[gte]`?' },
  { path: '/v1/channels', name: 'starting_after', message: 'did you mean `startingAfter`?' },
  { path: '/v1/channels', name: 'page', message: 'use one of `limit`, `startingAfter`, `type`.' },
  { path: '/v1/channels', name: '', message: 'without a name; use one of `limit`, `startingAfter`, `type`.' },
  { path: '/v1/tickets/ti_1', name: 'limit', message: 'send the request without parameters.' },
])('$path names the parameters to use instead of $name', async ({ path, name, message }) => {
  const answer = await api.get(`${path}?${encodeURIComponent(name)}=1`);
  expect(answer.status).toBe(422);
  expect(errorOf(answer).message).toContain(message);
});

const singular = enumerated.filter(({ isRepeatable }) => !isRepeatable);
test.each([
  ...paths.map((path) => ({ path, query: 'limit=1&limit=2', param: 'limit' })),
  ...paths.map((path) => ({ path, query: 'startingAfter=a&startingAfter=b', param: 'startingAfter' })),
  ...singular.map(({ url, name, values: [value] }) => ({
    path: url,
    query: `${name}=${value}&${name}=${value}`,
    param: name,
  })),
  {
    path: '/v1/tickets',
    query: 'createdAt[gte]=2026-01-01&createdAt[gte]=2026-01-01',
    param: 'createdAt[gte]',
  },
])('$path?$query is refused', async ({ path, query, param }) => {
  const answer = await api.get(`${path}?${query}`);
  expect({ status: answer.status, param: errorOf(answer).param }).toEqual({ status: 422, param });
  expect(errorOf(answer).message).toContain('only once');
});

test('/v1/tickets?status=open&status=nope is refused', async () => {
  const answer = await api.get('/v1/tickets?status=open&status=nope');
  expect({ status: answer.status, param: errorOf(answer).param }).toEqual({ status: 422, param: 'status' });
  expect(errorOf(answer).message).toContain('must be one of');
});

test.each(['limit=1', 'limit=100', 'limit=007', 'status=open&status=open', 'createdAt%5Bgte%5D=2026-01-01'])(
  '/v1/tickets?%s is accepted',
  async (query) => {
    expect((await api.get(`/v1/tickets?${query}`)).status).toBe(200);
  },
);

describe('the filters of lists', () => {
  const filters = enumerated.filter(({ name }) => name !== 'sort');
  const idsIn = async (url: string, name: string, values: string[]) => {
    const query = values.map((value) => `${name}=${value}`).join('&');
    const { data } = listOf(await api.get(`${url}?${query}`));
    return data.map(({ id }) => id);
  };
  /** The ids that a list returns for each value alone. */
  const idsOfEach = async (url: string, name: string, values: string[]) => {
    const ids: string[] = [];
    for (const value of values) ids.push(...(await idsIn(url, name, [value])));
    return ids;
  };

  test.each(filters)(
    '$url returns different items for each value of $name',
    async ({ url, name, values }) => {
      const ids = await idsOfEach(url, name, values);
      // If two values find the same item, the parameter has no effect: the query has to narrow its range by the
      // parameter.
      expect(ids).toEqual([...new Set(ids)]);
    },
  );

  // The golden documents leave optional fields empty, so they show whether all values together count as no filter.
  test.each(filters.filter(({ isRepeatable }) => isRepeatable))(
    '$url returns for all values of $name the items of each of them',
    async ({ url, name, values }) => {
      const ids = await idsOfEach(url, name, values);
      // If all values together find more items, they count as no filter. Only the values of a required field may do so.
      expect((await idsIn(url, name, values)).sort()).toEqual(ids.sort());
    },
  );
});

test.each(filteredQueries)('%s has an index for the combination of all its filters', async (url) => {
  expect((await api.get(url)).status).toBe(200);
});

test('bounds on both dates are refused as a conflict', async () => {
  const answer = await api.get('/v1/tickets?createdAt[gte]=2026-01-01&updatedAt[lte]=2026-01-01');
  expect(answer.status).toBe(422);
  expect(errorOf(answer).code).toBe('conflicting_date_range');
  expect(errorOf(answer)).not.toHaveProperty('param');
});

test.each([
  ['/v1/tickets/', 'ti_'],
  ['/v1/conversations/', 'conv_'],
])('ids below %s need the prefix %s and a remainder', async (path, prefix) => {
  const longest = prefix + 'x'.repeat(256 - prefix.length);
  for (const id of [prefix, 'x', `${prefix.toUpperCase()}1`, `x${prefix}1`, `${prefix}%00`, `${longest}x`]) {
    const answer = await api.get(path + id);
    expect({ id, status: answer.status, code: errorOf(answer).code }).toEqual({
      id,
      status: 422,
      code: 'invalid_path_parameter',
    });
  }
  expect((await api.get(path + longest)).status).toBe(404);
});
