import { createAnsweringProxy, type Refusal } from '../support/answering-proxy.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { ask, codeOf } from './requests.ts';
import { mongoUrl } from './test-api.ts';

const apis = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });
const proxy = createAnsweringProxy(mongoUrl());
let api: ApiProcess;

/** Any command that needs the rights of a user. */
const needsRights = /^(?:find|aggregate|update|insert|delete|listIndexes) /;
const lists = /^find tickets$/;

/** Refuses each command of this form on every connection. Returns how many it has refused. */
const refuseAll = (form: RegExp, refusal: Refusal) => refuse(form, refusal, null);

/** Refuses commands of this form on every connection, at most `times` times. Returns how many it has refused. */
function refuse(form: RegExp, refusal: Refusal, times: number | null) {
  let refused = 0;
  proxy.state.answer = ({ name }) => {
    const isSpent = times !== null && refused >= times;
    if (isSpent || !form.test(name)) return null;
    refused += 1;
    return refusal;
  };
  return () => refused;
}

/** A line of the log for a failed request. It counts the lines that the log has left out before it. */
type RefusedLine = { suppressed?: number };

const refusedLines = (since: number): RefusedLine[] =>
  api.log.slice(since).filter(({ msg, level }) => msg === 'request' && level === 'error') as RefusedLine[];

beforeAll(async () => {
  api = await apis.startServing({ MONGODB_URL: proxiedUrl(await proxy.listen()) });
});
afterEach(() => {
  proxy.state.answer = () => null;
});
afterAll(() => proxy.close());

test.each([
  ['Interrupted', 11_601],
  ['LockTimeout', 24],
  ['WriteConflict', 112],
  ['KeyNotFound', 211],
  ['SnapshotUnavailable', 246],
  ['ClientDisconnect', 279],
  ['TemporarilyUnavailable', 365],
  ['StaleConfig', 13_388],
  ['Unauthorized', 13],
  ['a code of a later release', 999_999],
])('the API retries a read that MongoDB refuses twice with %s (%i)', async (_, code) => {
  // The driver itself retries some of these errors once.
  const refusals = refuse(lists, { code }, 2);
  expect((await ask(api, '/v1/tickets')).status).toBe(200);
  expect(refusals()).toBe(2);
});

test('requests get 503 while MongoDB refuses reads, and the log has at most a line a second', async () => {
  const { length: earlierLines } = api.log;
  refuseAll(lists, { code: 11_601, errmsg: 'operation was interrupted' });
  const startedMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(api, '/v1/tickets')));
  for (const { status, headers, text } of answers) {
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('5');
    expect(codeOf(text)).toBe('service_unavailable');
  }
  expect((await api.admin('/livez')).status).toBe(200);
  const passedSeconds = (performance.now() - startedMs) / 1_000;
  // The next log line counts the lines that the log has left out.
  await ask(api, '/v1/tickets');
  const failedRequests = answers.length + 1;
  await eventually(() => {
    const lines = refusedLines(earlierLines);
    const counted = lines.reduce((sum, { suppressed = 0 }) => sum + 1 + suppressed, 0);
    return counted === failedRequests || notYet(lines);
  });
  expect(refusedLines(earlierLines).length).toBeLessThan(passedSeconds + 3);
});

test('requests get 503 if the name of MongoDB cannot be resolved', async () => {
  const unresolved = await apis.start({ ...apis.tls, MONGODB_URL: 'mongodb+srv://store.invalid/' });
  const { status, headers } = await ask(unresolved, '/v1/tickets');
  expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 503, retryAfter: '5' });
});

test('requests get 500 without a retry if MongoDB refuses a command as invalid', async () => {
  const refusals = refuseAll(lists, { code: 9, errmsg: 'a wrong command' });
  const { status, headers } = await ask(api, '/v1/tickets');
  expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 500, retryAfter: undefined });
  expect(refusals()).toBe(1);
});

test('an overloaded MongoDB gets at most eight attempts of a request', async () => {
  const refusals = refuseAll(lists, { code: 462, errorLabels: ['SystemOverloadedError'] });
  expect((await ask(api, '/v1/tickets')).status).toBe(503);
  expect(refusals()).toBeLessThanOrEqual(8);
  expect((await api.admin('/livez')).status).toBe(200);
});

test('no request gets 500 after the user of the connections was dropped and created again', async () => {
  const { connections } = proxy.state;
  proxy.state.answer = ({ name, connection }) =>
    needsRights.test(name) && connection <= connections
      ? { code: 13, errmsg: `Command ${name} requires authentication` }
      : null;
  const seen = new Set<number>();
  await eventually(async () => {
    const { status } = await ask(api, '/v1/tickets');
    seen.add(status);
    return status === 200 && api.log.some(({ msg }) => String(msg).includes('opened again'));
  });
  expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect((await api.admin('/livez')).status).toBe(200);
});
