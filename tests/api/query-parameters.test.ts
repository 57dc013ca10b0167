import { createLogger } from '../../shared/runtime/logger.ts';
import { containing } from '../support/matchers.ts';
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
const cases = (list: string, name: string, values: string[]) =>
  values.map((value) => [list, name, value] as const);
const refusedParameters = [
  ...paths.flatMap((list) => cases(list, 'limit', badLimits)),
  ...dates.flatMap((name) => cases('/v1/tickets', name, badDates)),
  ...enumerated.flatMap(({ url, name, values }) =>
    cases(url, name, [...badValues, ...misspelled(values[0] ?? '')]),
  ),
  ...paths.flatMap((list) => unknownNames.flatMap((name) => cases(list, name, ['1']))),
  ...urls.map((url) => [url, 'page', '2'] as const),
  ['/v1/tickets', 'status[]', 'open'] as const,
  ['/v1/tickets', 'createdAt[gt]', '2026-01-01'] as const,
  ['/v1/channels', 'sort', 'createdAt'] as const,
];

test.each(refusedParameters)(
  '%s refuses %s = %j with an error that names the parameter',
  async (list, name, value) => {
    const text = value.startsWith('%') ? value : encodeURIComponent(value);
    const answer = await api.get(`${list}?${encodeURIComponent(name)}=${text}`);
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({
      type: 'validation_error',
      code: 'invalid_query_parameter',
      param: name,
    });
  },
);

test.each([
  ['/v1/tickets', 'status[]', 'for several values, repeat `status`.'],
  ['/v1/tickets', 'status[0]', 'for several values, repeat `status`.'],
  ['/v1/tickets', 'createdAt[gt]', 'did you mean `createdAt[gte]`?'],
  ['/v1/channels', 'starting_after', 'did you mean `startingAfter`?'],
  ['/v1/channels', 'page', 'use one of `limit`, `startingAfter`, `type`.'],
  ['/v1/channels', '', 'without a name; use one of `limit`, `startingAfter`, `type`.'],
  ['/v1/tickets/ti_1', 'limit', 'send the request without parameters.'],
])('%s names the parameters to use instead of %s', async (path, name, message) => {
  const answer = await api.get(`${path}?${encodeURIComponent(name)}=1`);
  expect({ status: answer.status, message: errorOf(answer).message }).toEqual({
    status: 422,
    message: containing(message),
  });
});

test.each([
  ...paths.map((list) => [list, 'limit=1&limit=2', 'limit']),
  ...paths.map((list) => [list, 'startingAfter=a&startingAfter=b', 'startingAfter']),
  ...enumerated
    .filter(({ isRepeatable }) => !isRepeatable)
    .map(({ url, name, values: [value] }) => [url, `${name}=${value}&${name}=${value}`, name]),
  ['/v1/tickets', 'createdAt[gte]=2026-01-01&createdAt[gte]=2026-01-01', 'createdAt[gte]'],
  ['/v1/tickets', 'status=open&status=nope', 'status'],
])('%s?%s is refused', async (list, query, param) => {
  const answer = await api.get(`${list}?${query}`);
  expect({ status: answer.status, param: errorOf(answer).param }).toEqual({ status: 422, param });
  const isRepeatable = param === 'status';
  expect(errorOf(answer).message).toContain(isRepeatable ? 'must be one of' : 'only once');
});

test.each(['limit=1', 'limit=100', 'limit=007', 'status=open&status=open', 'createdAt%5Bgte%5D=2026-01-01'])(
  '/v1/tickets?%s is accepted',
  async (query) => {
    expect((await api.get(`/v1/tickets?${query}`)).status).toBe(200);
  },
);

/** The golden documents leave optional fields empty, so they show whether a list of all values counts as no filter. */
test.each(enumerated.filter(({ name }) => name !== 'sort'))(
  '$url returns different items for each value of $name',
  async ({ url, name, values, isRepeatable }) => {
    const ids = async (chosen: string[]) =>
      listOf(await api.get(`${url}?${chosen.map((value) => `${name}=${value}`).join('&')}`)).data.map(
        ({ id }) => id,
      );
    const foundIds: string[] = [];
    for (const value of values) foundIds.push(...(await ids([value])));
    // If two values find the same item, the parameter has no effect: the query has to narrow its range by the
    // parameter.
    expect(foundIds).toEqual([...new Set(foundIds)]);
    // If all values together find more items, they count as no filter. Only the values of a required field may do so.
    if (isRepeatable) expect((await ids(values)).sort()).toEqual(foundIds.sort());
  },
);

test.each(filteredQueries)('%s has an index for the combination of all its filters', async (url) => {
  expect((await api.get(url)).status).toBe(200);
});

test('bounds on both dates are refused as a conflict', async () => {
  const answer = await api.get('/v1/tickets?createdAt[gte]=2026-01-01&updatedAt[lte]=2026-01-01');
  expect({ status: answer.status, error: errorOf(answer) }).toMatchObject({
    status: 422,
    error: { code: 'conflicting_date_range' },
  });
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
