import kafkajs, { type Mechanism } from 'kafkajs';
import { z } from 'zod';
import { errorChain, errorMessage } from '../runtime/error-message.ts';

type TokenSettings = { url: string; clientId: string; clientSecret: string; scope: string | undefined };

/**
 * The part of its lifetime for which a token is used. The token is then still valid when a broker reads it. A
 * connection that renews its session in the last fifth gets a new token.
 */
const usedFraction = 0.8;

/** The lifetime of a token whose issuer states no lifetime, in seconds. */
const lifetimeDefaultSeconds = 60;

/** The longest wait for an answer of the issuer, in milliseconds. */
const timeoutMs = 10_000;

const tokenResponse = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(lifetimeDefaultSeconds),
});

export type AccessTokens = {
  /** The token that all connections share, or a new one. */
  get: () => Promise<string>;
  /** Called if the brokers refuse this token. The next `get` then requests a new one. */
  discard: (value: string) => void;
};

/**
 * Gets access tokens by the client credentials grant (RFC 6749, 4.4). All connections share a token until most of its
 * lifetime is over. kafkajs retries if the issuer is unavailable, but not if the issuer refuses the client.
 */
export function createAccessTokens(
  settings: TokenSettings,
  nowMs: () => number = () => performance.now(),
): AccessTokens {
  let request: Promise<string> | null = null;
  let currentToken: string | null = null;
  let usedUntilMs = 0;
  const renew = async () => {
    const requestedMs = nowMs();
    usedUntilMs = Infinity;
    try {
      const { access_token: value, expires_in: lifetimeSeconds } = await requestToken(settings);
      usedUntilMs = requestedMs + lifetimeSeconds * 1_000 * usedFraction;
      currentToken = value;
      return value;
    } catch (error) {
      request = null;
      throw error;
    }
  };
  return {
    get: () => {
      if (request === null || nowMs() >= usedUntilMs) request = renew();
      return request;
    },
    discard: (value) => {
      if (value === currentToken) request = null;
    },
  };
}

/**
 * Authenticates connections with access tokens. If a broker refuses a token, kafkajs tries again with a new token on a
 * new connection, because a gateway may hand out the same token until it ends. The mechanism of kafkajs would mistake
 * the broker's description of a refusal for success.
 */
export const tokenMechanism = (tokens: AccessTokens): Mechanism => ({
  mechanism: 'oauthbearer',
  authenticationProvider: ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const token = await tokens.get();
      const request = { encode: () => withLength(`n,,\u0001auth=Bearer ${token}\u0001\u0001`) };
      const reason = await refusalOf(saslAuthenticate({ request, response: withoutLength }));
      if (reason === '') return;
      tokens.discard(token);
      throw Object.assign(new kafkajs.KafkaJSConnectionError(`access token refused: ${reason}`), refusal);
    },
  }),
});

/** The reason why a broker refuses a token; empty if the broker accepts it. Rejects without an answer. */
async function refusalOf(answer: Promise<string | void>): Promise<string> {
  try {
    return (await answer) ?? '';
  } catch (error) {
    const isRefused = errorChain(error).some((cause) => (cause as { type?: string }).type === refusal.type);
    if (!isRefused) throw error;
    return errorMessage(error);
  }
}

/** Encodes a text as kafkajs sends it: its number of bytes, then the bytes. */
function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The answer of a broker: empty if it accepts the token, or else a description in JSON (RFC 7628, 3.2.2). */
const withoutLength = {
  decode: async (raw: Buffer) => raw.subarray(4),
  parse: (bytes: Buffer) => bytes.toString(),
};

async function requestToken({ url, clientId, clientSecret, scope }: TokenSettings) {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope) body.set('scope', scope);
  const options = {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  };
  const response = await fetch(url, options).catch((error: Error) => {
    const cause = (error.cause ?? error) as Error & { code?: string };
    throw unavailableError(errorMessage(cause), cause.code);
  });
  if ([400, 401, 403].includes(response.status))
    throw Object.assign(
      new kafkajs.KafkaJSNonRetriableError(describeFailure(`status ${response.status}`)),
      refusal,
    );
  if (response.status !== 200) throw unavailableError(`status ${response.status}`);
  const parsed = tokenResponse.safeParse(await response.json().catch(() => null));
  if (parsed.success) return parsed.data;
  throw unavailableError('the response has no access_token');
}

const describeFailure = (reason: string) => `no access token from KAFKA_SASL_TOKEN_URL: ${reason}`;

/**
 * Creates a connection error, after which kafkajs retries on a new connection. After any other error it would retry on
 * the same connection, which the broker refuses. `code` is the code of Node.js, for example for an invalid certificate.
 */
const unavailableError = (reason: string, code?: string) =>
  new kafkajs.KafkaJSConnectionError(describeFailure(reason), code === undefined ? {} : { code });

/** The error type of a broker that refuses the credentials. The projector treats a refusal of the issuer alike. */
const refusal = { type: 'SASL_AUTHENTICATION_FAILED' };
