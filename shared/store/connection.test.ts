import { createMongo } from './connection.ts';

const poolOf = (url: string, pool?: Parameters<typeof createMongo>[2]) =>
  createMongo(url, 'test', pool).options.maxPoolSize;

it.each([
  ['20 by default', 'mongodb://a/', undefined, 20],
  ['what the code says', 'mongodb://a/', { poolSize: 40 }, 40],
  ['what the connection string says', 'mongodb://a/?maxPoolSize=7&w=1', { poolSize: 40 }, 7],
  ['what it says in any case', 'mongodb://a/?w=1&maxpoolsize=7', undefined, 7],
  ['without limit where it says 0', 'mongodb://a/?maxPoolSize=0', undefined, 0],
  ['at most what the code allows', 'mongodb://a/?maxPoolSize=70', { poolSizeMax: 4 }, 4],
  ['that bound where it says 0', 'mongodb://a/?maxPoolSize=0', { poolSizeMax: 4 }, 4],
  ['less where it says so', 'mongodb://a/?maxPoolSize=2', { poolSizeMax: 4 }, 2],
])('the pool has %s', (_, url, pool, expected) => {
  expect(poolOf(url, pool)).toBe(expected);
});
