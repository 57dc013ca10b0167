import { chooseEncoding } from './encoding.ts';

const choose = (accepted: string) =>
  chooseEncoding({ req: { headers: { 'accept-encoding': accepted } } } as never);

test.each([
  ['gzip, br', 'br', 'gzip, br'],
  ['gzip, and br not at all', 'gzip', 'br;q=0, gzip'],
  ['gzip rather than br', 'gzip', 'gzip;q=1, br;q=0.5'],
  ['anything', 'br', '*'],
  ['others alone', 'identity', 'deflate, zstd'],
  ['nothing', 'identity', ''],
  ['nothing that the API has', 'identity', 'identity;q=0'],
  ['gzip in 1,000 characters', 'gzip', `gzip${', a'.repeat(332)}`],
  ['gzip in more characters', 'identity', `gzip${', a'.repeat(333)}`],
])('a client that accepts %s gets %s', (_, encoding, accepted) => {
  expect(choose(accepted)).toBe(encoding);
});
