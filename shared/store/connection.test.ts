import { controlDatabase, createMongo, generationDatabase } from './connection.ts';

it('a write waits for a majority, but not for ever', () => {
  const { writeConcern } = createMongo('mongodb://a/', 'test').db('support');
  expect(writeConcern).toMatchObject({ w: 'majority', journal: true, wtimeoutMS: 30_000 });
});

it.each([
  ['mongodb://a/', 'local'],
  ['mongodb://a/?readconcernLevel=majority', 'majority'],
])('a read of %s has the concern %s, so that the default of the cluster does not count', (url, level) => {
  const client = createMongo(url, 'test');
  for (const { readConcern } of [controlDatabase(client, 'x'), generationDatabase(client, 'x', 1)])
    expect(readConcern).toMatchObject({ level });
});

const poolOf = (url: string, pool?: Parameters<typeof createMongo>[2]) =>
  createMongo(url, 'test', pool).options.maxPoolSize;

it.each([
  ['20 by default', 'mongodb://a/', undefined, 20],
  ['the size in the code', 'mongodb://a/', { poolSize: 40 }, 40],
  ['the size in the connection string', 'mongodb://a/?maxPoolSize=7&w=majority', { poolSize: 40 }, 7],
  ['the size in the connection string, in any case', 'mongodb://a/?w=majority&maxpoolsize=7', undefined, 7],
  ['no limit if the connection string says 0', 'mongodb://a/?maxPoolSize=0', undefined, 0],
  ['at most the limit in the code', 'mongodb://a/?maxPoolSize=70', { poolSizeMax: 4 }, 4],
  [
    'the limit in the code if the connection string says 0',
    'mongodb://a/?maxPoolSize=0',
    { poolSizeMax: 4 },
    4,
  ],
  ['a smaller size in the connection string', 'mongodb://a/?maxPoolSize=2', { poolSizeMax: 4 }, 2],
])('the pool size is %s', (_, url, pool, expected) => {
  expect(poolOf(url, pool)).toBe(expected);
});

it('the options of the connection string hold', () => {
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

it('a pool with a limit keeps no connections open, so that minPoolSize never exceeds the limit', () => {
  const { options } = createMongo('mongodb://a/?minPoolSize=10', 'test', { poolSizeMax: 4 });
  expect({ minPoolSize: options.minPoolSize, maxPoolSize: options.maxPoolSize }).toEqual({
    minPoolSize: 0,
    maxPoolSize: 4,
  });
});

it('both databases are read from the primary, whatever the connection string prefers', () => {
  const client = createMongo('mongodb://a/?readPreference=nearest&maxStalenessSeconds=90', 'test');
  expect(client.readPreference).toMatchObject({ mode: 'nearest', maxStalenessSeconds: 90 });
  for (const { readPreference } of [controlDatabase(client, 'x'), generationDatabase(client, 'x', 1)])
    expect(readPreference).toMatchObject({ mode: 'primary', maxStalenessSeconds: undefined });
});
