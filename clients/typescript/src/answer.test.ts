import { readAnswer } from './answer.ts';

const read = (headers: Record<string, string>) => {
  const sent = { 'Request-Id': 'req_1', 'Data-As-Of': '2026-01-31T12:41:03.218Z', ...headers };
  const response = new Response('{}', { headers: { 'Content-Type': 'application/json', ...sent } });
  const { dataAsOf, rateLimit } = readAnswer(response, '{}', { origin: 'https://api.example.com', nowMs: 0 });
  return { dataAsOf: dataAsOf.toISOString(), rateLimit };
};
const limits = (limit: string, remaining: string, reset: string) => ({
  'RateLimit-Limit': limit,
  'RateLimit-Remaining': remaining,
  'RateLimit-Reset': reset,
});
const dataAsOf = '2026-01-31T12:41:03.218Z';

test.each([
  ['as the API sends them', limits('100', '87', '42'), { limit: 100, remaining: 87, resetSeconds: 42 }],
  ['twice', limits('100, 100', '87, 99', '42, 60'), { limit: 100, remaining: 87, resetSeconds: 42 }],
  ['with a text', limits('100', 'many', '42'), null],
  ['without a number', limits('100', '', '42'), null],
  ['not at all', {}, null],
])(
  'the limit of requests is read from headers that arrive %s, or is null, and never NaN',
  (_, sent, rateLimit) => {
    expect(read({ ...sent })).toEqual({ dataAsOf, rateLimit });
  },
);

test('the client takes the Data-As-Of of the API if a proxy sends another one', () => {
  const twice = `${dataAsOf}, 2026-01-31T12:00:00.000Z`;
  expect(read({ 'Data-As-Of': twice }).dataAsOf).toBe(dataAsOf);
});
