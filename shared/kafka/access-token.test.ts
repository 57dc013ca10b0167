import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  type AuthenticationProviderArgs,
  KafkaJSConnectionError,
  KafkaJSProtocolError,
  type SaslAuthenticateArgs,
} from 'kafkajs';
import { listen } from '../runtime/listen.ts';
import { createAccessTokens, tokenMechanism } from './access-token.ts';
import { classify } from './errors.ts';

let issuer: Server;
let url: string;
let answer = { status: 200, body: '' };
let nowMs: number;
const requests: { authorization: IncomingHttpHeaders['authorization']; body: string }[] = [];
beforeAll(async () => {
  issuer = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ authorization: request.headers.authorization, body });
      // Each answer takes a second.
      nowMs += 1_000;
      if (answer.status === 0) response.destroy();
      else response.writeHead(answer.status).end(answer.body);
    });
  });
  url = `http://127.0.0.1:${(await listen(issuer, '127.0.0.1', 0)).port}/`;
});
afterAll(() => issuer.close());
beforeEach(() => {
  requests.length = 0;
  nowMs = 0;
});

const tokens = (scope?: string) =>
  createAccessTokens({ url, clientId: 'reader', clientSecret: 'secret:ü', scope }, () => nowMs);
const issue = (value: string, lifetime = {}) => {
  answer = { status: 200, body: JSON.stringify({ access_token: value, ...lifetime }) };
};

test.each([
  ['four fifths of its lifetime', { expires_in: 100 }, 80_000],
  ['four fifths of a lifetime that is given as text', { expires_in: '100' }, 80_000],
  ['48 s if its issuer gives no lifetime', {}, 48_000],
])('connections share a token for %s after its request', async (_, lifetime, sharedMs) => {
  const token = tokens();
  issue('one', lifetime);
  expect(await Promise.all([token.get(), token.get()])).toEqual(['one', 'one']);
  issue('two', lifetime);
  nowMs = sharedMs - 1;
  expect(await token.get()).toBe('one');
  nowMs = sharedMs;
  expect(await Promise.all([token.get(), token.get()])).toEqual(['two', 'two']);
  expect(requests).toHaveLength(2);
});

test('a token request has the encoded credentials and the scope', async () => {
  issue('one');
  await tokens().get();
  await tokens('kafka topics').get();
  const authorization = `Basic ${Buffer.from('reader:secret%3A%C3%BC').toString('base64')}`;
  expect(requests).toEqual([
    { authorization, body: 'grant_type=client_credentials' },
    { authorization, body: 'grant_type=client_credentials&scope=kafka+topics' },
  ]);
});

test.each([
  ['refuses the request', { status: 400, body: 'secret' }, 'unauthorized'],
  ['refuses the client', { status: 401, body: 'secret' }, 'unauthorized'],
  ['forbids the client', { status: 403, body: 'secret' }, 'unauthorized'],
  ['breaks the connection', { status: 0, body: '' }, 'transient'],
  ['is overloaded', { status: 503, body: 'secret' }, 'transient'],
  ['answers with something else', { status: 200, body: '<html>' }, 'transient'],
])('an issuer that %s is asked again for the next connection', async (_, bad, expected) => {
  const token = tokens();
  answer = bad;
  const error = await token.get().catch((reason: unknown) => reason);
  expect(classify(error).errorClass).toBe(expected);
  expect(String(error)).toMatch(/KAFKA_SASL_TOKEN_URL/);
  expect(String(error)).not.toContain('secret');
  issue('three');
  expect(await token.get()).toBe('three');
});

describe('a token that a broker', () => {
  /** Authenticates with the bytes of a broker's answer, or with its error. */
  const authenticate = (token: ReturnType<typeof tokens>, brokerAnswer: string | Error) => {
    const sent: string[] = [];
    const saslAuthenticate = async ({ request, response }: SaslAuthenticateArgs<unknown>) => {
      sent.push((await request.encode()).toString());
      if (brokerAnswer instanceof Error) throw brokerAnswer;
      return response?.parse(
        await response.decode(
          Buffer.from(`\0\0\0${String.fromCharCode(brokerAnswer.length)}${brokerAnswer}`),
        ),
      );
    };
    const args = { host: 'a', port: 1, saslAuthenticate } as unknown as AuthenticationProviderArgs;
    return tokenMechanism(token)
      .authenticationProvider(args)
      .authenticate()
      .then(() => sent[0]);
  };
  const failed = { type: 'SASL_AUTHENTICATION_FAILED', code: 58, retriable: false };

  test('accepts is sent in the form of RFC 7628, and used again', async () => {
    const token = tokens();
    issue('one');
    expect(await authenticate(token, '')).toBe('\0\0\0\x15n,,\x01auth=Bearer one\x01\x01');
    issue('two');
    expect(await token.get()).toBe('one');
  });

  test.each([
    ['describes as refused', '{"status":"invalid_token"}'],
    ['refuses', new KafkaJSProtocolError(Object.assign(new Error('expired'), failed))],
  ])('%s is replaced, and kafkajs tries again', async (_, brokerAnswer) => {
    const token = tokens();
    issue('one');
    const error = await authenticate(token, brokerAnswer).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'KafkaJSConnectionError', retriable: true });
    expect(classify(error).errorClass).toBe('unauthorized');
    issue('two');
    expect(await token.get()).toBe('two');
  });

  test('does not answer about is used again', async () => {
    const token = tokens();
    issue('one');
    const lost = new KafkaJSConnectionError('Closed connection');
    await expect(authenticate(token, lost)).rejects.toBe(lost);
    issue('two');
    expect(await token.get()).toBe('one');
  });
});
