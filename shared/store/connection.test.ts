import { controlDatabase, createMongo, generationDatabase, readPreferenceOf } from './connection.ts';

test('a write waits for a majority, but not for ever', () => {
  const { writeConcern } = createMongo('mongodb://a/', 'test').db('support');
  expect(writeConcern).toMatchObject({ w: 'majority', journal: true, wtimeoutMS: 30_000 });
});

test.each([
  ['mongodb://a/', 'local'],
  ['mongodb://a/?readconcernLevel=majority', 'majority'],
])('a read of %s has the concern %s, so that the default of the cluster does not count', (url, level) => {
  const client = createMongo(url, 'test');
  for (const { readConcern } of [controlDatabase(client, 'x'), generationDatabase(client, 'x', 1)])
    expect(readConcern).toMatchObject({ level });
});

const poolOf = (url: string, pool?: Parameters<typeof createMongo>[2]) =>
  createMongo(url, 'test', pool).options.maxPoolSize;

test.each([
  { name: '20 by default', url: 'mongodb://a/', pool: undefined, expected: 20 },
  { name: 'the size in the code', url: 'mongodb://a/', pool: { poolSize: 40 }, expected: 40 },
  {
    name: 'the size in the connection string',
    url: 'mongodb://a/?maxPoolSize=7&w=majority',
    pool: { poolSize: 40 },
    expected: 7,
  },
  {
    name: 'the size in the connection string, in any case',
    url: 'mongodb://a/?w=majority&maxpoolsize=7',
    pool: undefined,
    expected: 7,
  },
  {
    name: 'no limit if the connection string has 0',
    url: 'mongodb://a/?maxPoolSize=0',
    pool: undefined,
    expected: 0,
  },
  {
    name: 'at most the limit in the code',
    url: 'mongodb://a/?maxPoolSize=70',
    pool: { poolSizeMax: 4 },
    expected: 4,
  },
  {
    name: 'the limit in the code if the connection string has 0',
    url: 'mongodb://a/?maxPoolSize=0',
    pool: { poolSizeMax: 4 },
    expected: 4,
  },
  {
    name: 'a smaller size in the connection string',
    url: 'mongodb://a/?maxPoolSize=2',
    pool: { poolSizeMax: 4 },
    expected: 2,
  },
])('the pool size is $name', ({ url, pool, expected }) => {
  expect(poolOf(url, pool)).toBe(expected);
});

test('the options of the connection string apply', () => {
  const url =
    'mongodb://a/?appName=mine&serverSelectionTimeoutMS=700&connectTimeoutMS=8&waitQueueTimeoutMS=9&wtimeoutMS=5';
  const { options } = createMongo(url, 'test', {
    timeouts: { waitQueueTimeoutMS: 1, heartbeatFrequencyMS: 600 },
  });
  expect(options).toMatchObject({
    appName: 'mine',
    serverSelectionTimeoutMS: 700,
    connectTimeoutMS: 8,
    waitQueueTimeoutMS: 9,
    heartbeatFrequencyMS: 600,
  });
  expect(options.writeConcern).toMatchObject({ w: 'majority', journal: true, wtimeoutMS: 5 });
});

test('a pool with a limit keeps no connections open, so that minPoolSize never exceeds the limit', () => {
  const { options } = createMongo('mongodb://a/?minPoolSize=10', 'test', { poolSizeMax: 4 });
  expect({ minPoolSize: options.minPoolSize, maxPoolSize: options.maxPoolSize }).toEqual({
    minPoolSize: 0,
    maxPoolSize: 4,
  });
});

test.each([
  'readPreference=nearest&maxStalenessSeconds=90',
  'maxStalenessSeconds=90&readPreferenceTags=dc:a&w=majority&readPreferenceTags=&readpreference=secondary',
])('a client connects to the primary, and reads both databases there, with %s', (options) => {
  const url = `mongodb://a/?${options}`;
  const client = createMongo(url, 'test');
  for (const { readPreference } of [client, controlDatabase(client, 'x'), generationDatabase(client, 'x', 1)])
    expect(readPreference).toMatchObject({
      mode: 'primary',
      maxStalenessSeconds: undefined,
      tags: undefined,
    });
  expect(client.options.writeConcern).toMatchObject({ w: 'majority', journal: true });
});

test('the members that the connection string selects are known to the API, which reads its data there', () => {
  const options = 'readPreference=nearest&maxStalenessSeconds=90&readPreferenceTags=dc:a&readPreferenceTags=';
  const readPreference = readPreferenceOf(`mongodb://a/?${options}`);
  expect(readPreference).toMatchObject({ mode: 'nearest', maxStalenessSeconds: 90, tags: [{ dc: 'a' }, {}] });
});
