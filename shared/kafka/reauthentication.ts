import kafkajs from 'kafkajs';

/** The internal parts of kafkajs that authenticate a connection; they have no public types. */
export type AuthenticationParts = {
  connection: { prototype: Connection };
  saslAuthenticator: { prototype: SaslAuthenticator };
};

type Connection = {
  broker: string;
  /** The reading of `process.hrtime` at the last authentication of the open connection; null before that. */
  authenticatedAt: [seconds: number, nanoseconds: number] | null;
  /** In milliseconds, a `Long`: how long the broker accepts this authentication; 0 = without an end. */
  sessionLifetime: { toNumber: () => number };
  isAuthenticated: () => boolean;
  send: (call: object) => Promise<unknown>;
  sendAuthRequest: (call: object) => Promise<unknown>;
  disconnect: () => Promise<unknown>;
};
type SaslAuthenticator = { connection: Connection; authenticate: () => Promise<void> };

/** How long before its end kafkajs renews a session, in milliseconds. */
const renewedBeforeMs = 10_000;
/** The last part of a short session, in which the patch renews it. */
const renewedPart = 0.2;

/**
 * kafkajs renews every session ten seconds before its end. It would renew a shorter session at each request, but
 * brokers refuse two renewals within a second. A session is short if its token ends soon. The patch renews a short
 * session in its last fifth. By then access-token.ts has replaced a token, which it uses for four fifths of its
 * lifetime.
 */
export function renewShortSessions({ connection: { prototype } }: AuthenticationParts): void {
  prototype.isAuthenticated = function (this: Connection) {
    if (this.authenticatedAt === null) return false;
    const lifetimeMs = this.sessionLifetime.toNumber();
    if (lifetimeMs === 0) return true;
    const [seconds, nanoseconds] = process.hrtime(this.authenticatedAt);
    const ageMs = seconds * 1_000 + nanoseconds / 1_000_000;
    return ageMs + Math.min(renewedBeforeMs, lifetimeMs * renewedPart) < lifetimeMs;
  };
}

/** The errors of a lost connection, by name. */
const lostErrors = ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError'];

/**
 * After a failed authentication a broker gives no more answers on the connection, but kafkajs would keep it. The patch
 * closes the connection. kafkajs then tries the request again on a new connection in two cases: the broker only refuses
 * to renew the session, or the connection was lost. kafkajs itself would report a lost connection as a refusal.
 */
export function closeUnauthenticated({ saslAuthenticator: { prototype } }: AuthenticationParts): void {
  const { authenticate } = prototype;
  prototype.authenticate = async function (this: SaslAuthenticator) {
    const { connection } = this;
    const isRenewal = connection.authenticatedAt !== null;
    let lost: Error | undefined;
    const asking = Object.create(connection) as Connection;
    asking.send = (call) =>
      connection.send(call).catch((error: Error) => {
        if (lostErrors.includes(error.name)) lost = error;
        throw error;
      });
    asking.sendAuthRequest = (call) => connection.sendAuthRequest(call);
    this.connection = asking;
    try {
      await authenticate.call(this);
    } catch (error) {
      await connection.disconnect();
      if (lost) throw lost;
      // On a new connection this error means that the listener has no SASL.
      const isState = (error as { type?: string }).type === 'ILLEGAL_SASL_STATE';
      if (isState && isRenewal)
        throw new kafkajs.KafkaJSConnectionError('the broker does not renew the session now', {
          broker: connection.broker,
        });
      throw error;
    }
  };
}
