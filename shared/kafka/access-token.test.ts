import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isKafkaAuthorizationError, isTransient } from './transient-errors.ts';
import { createAccessTokens } from './access-token.ts';

let issuer: Server;
let answer = { status: 200, body: '' };
let requests = 0;
beforeAll(() => {
  issuer = createServer((_, response) => {
    requests += 1;
    response.writeHead(answer.status).end(answer.body);
  });
  return new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
});
afterAll(() => issuer.close());
beforeEach(() => {
  requests = 0;
});

const tokens = (nowMs?: () => number) =>
  createAccessTokens(
    {
      url: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/`,
      clientId: 'reader',
      clientSecret: 'secret',
      scope: undefined,
    },
    nowMs,
  );
const issue = (value: string, lifetimeSeconds = 100) => {
  answer = { status: 200, body: JSON.stringify({ access_token: value, expires_in: lifetimeSeconds }) };
};

it('connections share a token until four fifths of its lifetime are over', async () => {
  let nowMs = 0;
  const token = tokens(() => nowMs);
  issue('one');
  expect(await Promise.all([token(), token()])).toEqual([{ value: 'one' }, { value: 'one' }]);
  issue('two');
  nowMs = 79_999;
  expect(await token()).toEqual({ value: 'one' });
  nowMs = 80_000;
  expect(await token()).toEqual({ value: 'two' });
  expect(requests).toBe(2);
});

it.each([
  ['refuses the client', { status: 401, body: 'secret' }, { refused: true, transient: false }],
  ['is overloaded', { status: 503, body: 'secret' }, { refused: false, transient: true }],
  ['answers with something else', { status: 200, body: '<html>' }, { refused: false, transient: true }],
])('an issuer that %s is told apart, and asked again for the next connection', async (_, bad, expected) => {
  const token = tokens();
  answer = bad;
  const error = await token().catch((reason: unknown) => reason);
  expect({ refused: isKafkaAuthorizationError(error), transient: isTransient(error) }).toEqual(expected);
  expect(String(error)).toMatch(/KAFKA_SASL_TOKEN_URL/);
  expect(String(error)).not.toContain('secret');
  issue('three');
  expect(await token()).toEqual({ value: 'three' });
});
