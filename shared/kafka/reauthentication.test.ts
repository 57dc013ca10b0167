import { createRequire } from 'node:module';
import { KafkaJSConnectionError, KafkaJSProtocolError } from 'kafkajs';
import { closeUnauthenticated, renewShortSessions } from './reauthentication.ts';

type Parts = Parameters<typeof renewShortSessions>[0];

/** Whether a session of this life counts as authenticated at an age, both in milliseconds. */
function isAuthenticated(lifetimeMs: number, ageMs: number): boolean {
  const connection = {
    prototype: {
      authenticatedAt: process.hrtime(),
      sessionLifetime: { toNumber: () => lifetimeMs },
      isAuthenticated: () => false,
    },
  };
  renewShortSessions({ connection } as unknown as Parts);
  const [seconds, nanoseconds] = connection.prototype.authenticatedAt;
  const atNanoseconds = BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds) - BigInt(ageMs * 1_000_000);
  connection.prototype.authenticatedAt = [
    Number(atNanoseconds / 1_000_000_000n),
    Number(atNanoseconds % 1_000_000_000n),
  ];
  return connection.prototype.isAuthenticated();
}

test.each([
  { lifetimeMs: 3_600_000, beforeMs: 3_589_000, afterMs: 3_591_000 },
  { lifetimeMs: 60_000, beforeMs: 49_000, afterMs: 51_000 },
  { lifetimeMs: 20_000, beforeMs: 15_000, afterMs: 17_000 },
  { lifetimeMs: 2_000, beforeMs: 1_000, afterMs: 1_700 },
])(
  'a session of $lifetimeMs ms is renewed after $beforeMs ms and before $afterMs ms',
  ({ lifetimeMs, beforeMs, afterMs }) => {
    expect(isAuthenticated(lifetimeMs, beforeMs)).toBe(true);
    expect(isAuthenticated(lifetimeMs, afterMs)).toBe(false);
  },
);

test('a session without an end is never renewed', () => expect(isAuthenticated(0, 86_400_000)).toBe(true));

test.each([
  {
    name: 'error 34 at a renewal is tried again on a new connection',
    type: 'ILLEGAL_SASL_STATE',
    isRenewal: true,
    isTriedAgain: true,
  },
  {
    name: 'error 34 on a new connection is a refusal',
    type: 'ILLEGAL_SASL_STATE',
    isRenewal: false,
    isTriedAgain: false,
  },
  {
    name: 'a refusal at a renewal stays a refusal',
    type: 'SASL_AUTHENTICATION_FAILED',
    isRenewal: true,
    isTriedAgain: false,
  },
])('$name, and the connection is closed', async ({ type, isRenewal, isTriedAgain }) => {
  const error = new KafkaJSProtocolError(Object.assign(new Error('no'), { type, code: 1, retriable: false }));
  const saslAuthenticator = { prototype: { authenticate: () => Promise.reject(error), connection: {} } };
  closeUnauthenticated({ saslAuthenticator } as unknown as Parts);
  let closed = 0;
  const connection = {
    broker: 'a:1',
    authenticatedAt: isRenewal ? [0, 0] : null,
    disconnect: async () => {
      closed += 1;
    },
  };
  const { authenticate } = saslAuthenticator.prototype;
  const thrown = await authenticate.call({ connection } as never).catch((reason: unknown) => reason);
  expect(thrown instanceof KafkaJSConnectionError).toBe(isTriedAgain);
  expect(closed).toBe(1);
});

const { prototype } = createRequire(import.meta.url)('kafkajs/src/broker/saslAuthenticator') as {
  prototype: { authenticate: (this: object) => Promise<void> };
};

/** The error of a PLAIN authentication whose request after the handshake fails with `error`. */
async function errorOf(error: Error): Promise<unknown> {
  const saslAuthenticator = { prototype: { authenticate: prototype.authenticate, connection: {} } };
  closeUnauthenticated({ saslAuthenticator } as unknown as Parts);
  const answers = [Promise.resolve({ enabledMechanisms: ['PLAIN'] }), Promise.reject(error)];
  const connection = {
    broker: 'a:1',
    authenticatedAt: null,
    sasl: { mechanism: 'plain', username: 'u', password: 'p' },
    send: () => answers.shift(),
    disconnect: async () => undefined,
  };
  const quiet = { debug: () => undefined, error: () => undefined };
  const authenticator = {
    connection,
    logger: { namespace: () => quiet },
    saslHandshake: () => ({}),
    protocolAuthentication: () => ({}),
  };
  return saslAuthenticator.prototype.authenticate.call(authenticator).catch((reason: unknown) => reason);
}

test('the loss of a connection during authentication is not a refusal', async () => {
  const lost = new KafkaJSConnectionError('reset', { broker: 'a:1' });
  expect(await errorOf(lost)).toBe(lost);
  const answer = { type: 'SASL_AUTHENTICATION_FAILED', code: 58, retriable: false };
  const refusal = new KafkaJSProtocolError(Object.assign(new Error('no'), answer));
  expect(await errorOf(refusal)).toMatchObject({ name: 'KafkaJSSASLAuthenticationError' });
});
