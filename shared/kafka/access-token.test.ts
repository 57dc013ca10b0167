import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  type AuthenticationProviderArgs,
  KafkaJSConnectionError,
  KafkaJSProtocolError,
  type SaslAuthenticateArgs,
} from 'kafkajs';
import { listen } from '../runtime/listen.ts';
import { type AccessTokens, createAccessTokens, tokenMechanism } from './access-token.ts';
import { classify } from './errors.ts';

type TokenRequest = { authorization: IncomingHttpHeaders['authorization']; body: string };
/** An answer of the issuer. With the status 0, the issuer breaks the connection. */
type Answer = { status: number; body: string };

/** A server that issues tokens. Each answer takes a second of `clock`. */
function useIssuer() {
  const requests: TokenRequest[] = [];
  const clock = { nowMs: 0 };
  const noAnswer: Answer = { status: 0, body: '' };
  let answer = noAnswer;
  let url: string;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ authorization: request.headers.authorization, body });
      clock.nowMs += 1_000;
      if (answer.status === 0) response.destroy();
      else response.writeHead(answer.status).end(answer.body);
    });
  });
  beforeAll(async () => {
    url = `http://127.0.0.1:${(await listen(server, '127.0.0.1', 0)).port}/`;
  });
  afterAll(() => server.close());
  beforeEach(() => {
    requests.length = 0;
    clock.nowMs = 0;
    answer = noAnswer;
  });
  const answerWith = (next: Answer) => {
    answer = next;
  };
  return {
    requests,
    clock,
    answerWith,
    /** The next answers contain this token. */
    issue: (token: string, lifetime = {}) =>
      answerWith({ status: 200, body: JSON.stringify({ access_token: token, ...lifetime }) }),
    createTokens: (scope?: string) =>
      createAccessTokens({ url, clientId: 'reader', clientSecret: 'secret:ü', scope }, () => clock.nowMs),
  };
}

const { requests, clock, answerWith, issue, createTokens } = useIssuer();

test.each([
  ['four fifths of its lifetime', { expires_in: 100 }, 80_000],
  ['four fifths of a lifetime that is given as text', { expires_in: '100' }, 80_000],
  ['48 s if its issuer gives no lifetime', {}, 48_000],
])('connections share a token for %s after its request', async (_, lifetime, sharedMs) => {
  const tokens = createTokens();
  issue('one', lifetime);
  expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(['one', 'one']);
  issue('two', lifetime);
  clock.nowMs = sharedMs - 1;
  expect(await tokens.get()).toBe('one');
  clock.nowMs = sharedMs;
  expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(['two', 'two']);
  expect(requests).toHaveLength(2);
});

test('a token request has the encoded credentials and the scope', async () => {
  issue('one');
  await createTokens().get();
  await createTokens('kafka topics').get();
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
])('an issuer that %s is asked again for the next connection', async (_, refusal, expected) => {
  const tokens = createTokens();
  answerWith(refusal);
  const error = await tokens.get().catch((reason: unknown) => reason);
  expect(classify(error).errorClass).toBe(expected);
  expect(String(error)).toMatch(/KAFKA_SASL_TOKEN_URL/);
  expect(String(error)).not.toContain('secret');
  issue('three');
  expect(await tokens.get()).toBe('three');
});

/** A text as the protocol of Kafka sends it: its length in four bytes, then its bytes. */
function lengthPrefixed(content: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length);
  return Buffer.concat([length, Buffer.from(content)]);
}

/**
 * Authenticates at a broker that answers with this text, or at which the request fails with this error. Returns the
 * text that was sent.
 */
async function authenticate(tokens: AccessTokens, brokerAnswer: string | Error): Promise<string | undefined> {
  let sent: string | undefined;
  const saslAuthenticate = async ({ request, response }: SaslAuthenticateArgs<unknown>) => {
    sent = (await request.encode()).toString();
    if (brokerAnswer instanceof Error) throw brokerAnswer;
    return response?.parse(await response.decode(lengthPrefixed(brokerAnswer)));
  };
  const args = { host: 'a', port: 1, saslAuthenticate } as unknown as AuthenticationProviderArgs;
  await tokenMechanism(tokens).authenticationProvider(args).authenticate();
  return sent;
}

const protocolError = { type: 'SASL_AUTHENTICATION_FAILED', code: 58, retriable: false };

test('a token that a broker accepts is sent in the form of RFC 7628, and used again', async () => {
  const tokens = createTokens();
  issue('one');
  expect(await authenticate(tokens, '')).toBe('\0\0\0\x15n,,\x01auth=Bearer one\x01\x01');
  issue('two');
  expect(await tokens.get()).toBe('one');
});

test.each([
  ['describes as refused', '{"status":"invalid_token"}'],
  ['refuses with an error', new KafkaJSProtocolError(Object.assign(new Error('expired'), protocolError))],
])('a token that a broker %s is replaced, and kafkajs tries again', async (_, brokerAnswer) => {
  const tokens = createTokens();
  issue('one');
  const error = await authenticate(tokens, brokerAnswer).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'KafkaJSConnectionError', retriable: true });
  expect(classify(error).errorClass).toBe('unauthorized');
  issue('two');
  expect(await tokens.get()).toBe('two');
});

test('a token is used again if the broker closes the connection without an answer', async () => {
  const tokens = createTokens();
  issue('one');
  const closed = new KafkaJSConnectionError('Closed connection');
  await expect(authenticate(tokens, closed)).rejects.toBe(closed);
  issue('two');
  expect(await tokens.get()).toBe('one');
});
