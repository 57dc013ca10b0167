import { ulid } from 'ulid';
import { type RequestTrace, requestTracesOf, tracedKeyIndex } from '../../shared/control/request-traces.ts';
import { apiKey, store } from '../api/builders.ts';
import { mongoUrl, startStore } from '../api/test-api.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(() => startStore());
const list = () =>
  runCli({ MONGODB_URL: mongoUrl(), DATABASE_NAME: opened.name }, ['keys', 'list', '--org', 'org_used']);

test('keys list shows the last use of each key by the traces, and which keys that work are unused', async () => {
  const org = { orgId: 'org_used' };
  const createdAt = (day: string) => ({ createdAt: `${day}T00:00:00Z` });
  await store(opened.database, 'apiKey', [
    apiKey('svc_live_u1', { id: 'key_used', ...createdAt('2025-01-01') }, org),
    apiKey('svc_live_u2', { id: 'key_old', ...createdAt('2025-01-01'), rateLimit: 5_000 }, org),
    apiKey('svc_live_u3', { id: 'key_new', ...createdAt('2026-01-30') }, org),
    apiKey(
      'svc_live_u4',
      { id: 'key_gone', ...createdAt('2025-01-01'), archivedAt: '2026-01-01T00:00:00Z' },
      org,
    ),
  ]);
  const lines = async () => {
    const columns = (await list()).text.split('\n').map((line) => line.split('  '));
    return Object.fromEntries(columns.map(([id = '', , , ...rest]) => [id, rest.slice(0, 3)]));
  };
  const batches = requestTracesOf(opened.control);
  const batchOf = (at: string, ...keyIds: string[]) => ({
    _id: `req_${ulid(Date.parse(at))}`,
    traces: keyIds.map((keyId) => ({ keyId })) as unknown as RequestTrace[],
    replica: 'test',
    expiresAt: new Date(Date.parse(at) + 90 * 86_400_000),
  });
  await batches.insertMany([
    batchOf('2026-01-29T23:00:00Z', 'key_other', 'key_used'),
    batchOf('2026-01-30T12:00:00Z', 'key_used', 'key_used'),
    batchOf('2026-01-31T12:00:00Z', 'key_other'),
  ]);
  // Before an API of this release has made its index.
  expect(await lines()).toMatchObject({
    key_used: ['active', 'default limit', expect.stringContaining('has not indexed the traces')],
  });
  await batches.createIndexes([tracedKeyIndex]);
  const before = 'unknown before 2026-01-29: traces are kept 90 days';
  expect(await lines()).toEqual({
    key_gone: ['archived since 2026-01-01T00:00:00.000Z', 'default limit', `last use ${before}`],
    key_new: ['active, UNUSED', 'default limit', 'last use never'],
    key_old: ['active, UNUSED', 'limit 5,000', `last use ${before}`],
    key_used: ['active', 'default limit', 'last use 2026-01-30'],
  });
  await batches.drop();
});
