import { METHODS, request } from 'node:http';
import { errorCodes } from '../../services/api/http/error-envelope.ts';
import { logGapsOf, storeLogGaps } from '../../shared/control/log-gaps.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses } from './api-processes.ts';
import { host, metricOf } from './raw-socket.ts';

const apis = useApiProcesses();

/** Sends any method, unlike `fetch`, and reads the response to its end. */
const send = (port: number, method: string, path: string) =>
  new Promise((resolve, reject) => {
    const headers = { 'X-Forwarded-Proto': 'https' };
    const sent = request({ host, port, method, path, headers }, (response) => {
      response.resume().once('end', resolve);
    });
    sent.on('error', reject).end();
  });

test('the metrics show the used and idle connections of each pool to MongoDB', async () => {
  const api = await apis.startServing();
  const connections = (pool: string, state: string) =>
    metricOf(api, `support_mongodb_connections{pool="${pool}",state="${state}"}`);
  // The monitor of the pools, polls and traces may use a connection at any moment.
  await eventually(async () => (await connections('data', 'in_use')) === 0);
  await eventually(async () => (await connections('data', 'idle')) > 0);
  await eventually(async () => (await connections('auth', 'idle')) > 0);
  const waiting = () => metricOf(api, 'support_mongodb_checkouts_waiting{pool="data"}');
  await eventually(async () => (await waiting()) === 0);
});

test('the metrics show the age 0 before the API has read data', async () => {
  const name = `${apis.store.name}_empty`;
  const api = await apis.start({ DATABASE_NAME: name, ADMIN_PORT: '0' });
  const { client } = apis.store;
  // The API sets the gauges before it writes its first announcement.
  await eventually(async () => (await client.db(name).collection('processes').countDocuments()) === 1);
  expect(await metricOf(api, 'api_data_age_seconds')).toBe(0);
  await api.stop();
  await client.db(name).dropDatabase();
});

test('the metrics show the first log gap of the served generation until an operator accepts it', async () => {
  const { control } = apis.store;
  const api = await apis.startServing();
  const untilShown = (timestampSeconds: number) =>
    eventually(async () => (await metricOf(api, 'api_log_gap_timestamp_seconds')) === timestampSeconds);
  const storeGap = (partition: number, at: string, generation = 1) => {
    const gap = { topic: 'tags', partition, kind: 'deleted', from: 0, to: 1, topicId: null } as const;
    return storeLogGaps({ control, generation, by: 'projector' }, [gap], new Date(at));
  };
  await storeGap(0, '2026-11-20T14:00:00Z', 2);
  await untilShown(0);
  await storeGap(0, '2026-11-21T14:00:00Z');
  await storeGap(1, '2026-11-21T15:00:00Z');
  // The metric keeps the time of the first finding, although a projector finds the gap again.
  await storeGap(0, '2026-11-22T14:00:00Z');
  await untilShown(Date.parse('2026-11-21T14:00:00Z') / 1_000);
  await logGapsOf(control).deleteMany({});
  await untilShown(0);
});

test('the metrics have one series for each kind of route although clients request random paths', async () => {
  const api = await apis.startServing();
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  const paths = ['/health', '/docs/guides/paging', '/v1/tickets', '/v1/nothing'];
  paths.push(...errorCodes.map((code) => `/docs/errors/${code}`));
  for (const method of methods) await send(api.port, method, '/docs');
  for (const path of paths) {
    for (const method of ['GET', 'LOCK', 'QUERY']) await send(api.port, method, path);
  }
  const text = await (await api.admin('/metrics')).text();
  const series = text.matchAll(/^api_request_duration_seconds_count\{method="(.*?)",route="(.*?)"/gm);
  const seenMethods = new Set<string>();
  const seenRoutes = new Set<string>();
  for (const [, method = '', route = ''] of series) {
    seenMethods.add(method);
    seenRoutes.add(route);
  }
  expect([...seenMethods].sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'other']);
  expect([...seenRoutes].filter((route) => route.startsWith('/docs')).sort()).toEqual([
    '/docs',
    '/docs/errors/:name',
    '/docs/guides/:name',
  ]);
});
