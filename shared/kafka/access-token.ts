import kafkajs, { type OauthbearerProviderResponse } from 'kafkajs';
import { z } from 'zod';
import { errorMessage } from '../runtime/error-message.ts';

type TokenSettings = { url: string; clientId: string; clientSecret: string; scope: string | undefined };

/** A token is used for this part of its lifetime, so that it is still valid when a broker reads it. */
const usedPart = 0.8;

/** The lifetime of a token whose issuer does not say it, in seconds. */
const lifetimeDefaultSeconds = 60;

const timeoutMs = 10_000;

const tokenResponse = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(lifetimeDefaultSeconds),
});

/**
 * Returns a function that kafkajs calls before it authenticates a connection. It gets an access token by the client
 * credentials grant (RFC 6749, 4.4), which all connections share until most of its lifetime is over. kafkajs retries if
 * the issuer is unavailable, but not if it refuses the client.
 */
export function createAccessTokens(settings: TokenSettings, nowMs: () => number = () => performance.now()) {
  let token: Promise<OauthbearerProviderResponse> | null = null;
  let usedUntilMs = 0;
  const renew = async () => {
    const requestedMs = nowMs();
    usedUntilMs = Infinity;
    try {
      const { access_token: value, expires_in: lifetimeSeconds } = await requestToken(settings);
      usedUntilMs = requestedMs + lifetimeSeconds * 1_000 * usedPart;
      return { value };
    } catch (error) {
      token = null;
      throw error;
    }
  };
  return () => (token = token && nowMs() < usedUntilMs ? token : renew());
}

async function requestToken({ url, clientId, clientSecret, scope }: TokenSettings) {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const options = {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope ? { scope } : {}) }),
    signal: AbortSignal.timeout(timeoutMs),
  };
  const response = await fetch(url, options).catch((error: Error) => {
    throw unavailable(errorMessage(error.cause ?? error));
  });
  if ([400, 401, 403].includes(response.status))
    throw Object.assign(new kafkajs.KafkaJSNonRetriableError(failed(`status ${response.status}`)), refusal);
  if (response.status !== 200) throw unavailable(`status ${response.status}`);
  const parsed = tokenResponse.safeParse(await response.json().catch(() => null));
  if (parsed.success) return parsed.data;
  throw unavailable('the response has no access_token');
}

const failed = (reason: string) => `no access token from KAFKA_SASL_TOKEN_URL: ${reason}`;

/** After any other error kafkajs tries again on the same connection, which the broker then refuses for good. */
const unavailable = (reason: string) => new kafkajs.KafkaJSConnectionError(failed(reason));

/** The error type of a broker that refuses the credentials: the projector treats both alike. */
const refusal = { type: 'SASL_AUTHENTICATION_FAILED' };
