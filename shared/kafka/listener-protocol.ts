import kafkajs from 'kafkajs';

/** The internal parts of kafkajs that open a connection and send requests on it; they have no public types. */
export type ListenerParts = { connection: { prototype: Connection } };

type Connection = {
  broker: string;
  connect: () => Promise<unknown>;
  send: (call: Call) => Promise<unknown>;
  rejectRequests: (error: Error) => void;
};
type Call = { request: { apiKey: number } };

/** The error code of a connection whose listener seems to expect another protocol: TLS, SASL or neither. */
export const otherProtocol = 'ERR_LISTENER_PROTOCOL';

/**
 * ApiVersions, SaslHandshake and SaslAuthenticate. A listener with SASL answers them to any client, so their answers do
 * not prove that the settings fit.
 */
const apisAnsweredToAll = [18, 17, 36];

/** The addresses at which a broker has answered a request of this process. */
const answeredAddresses = new Set<string>();

/** The codes of OpenSSL for a server that answers without TLS. */
const plainAnswers = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'];

/**
 * If a client speaks another protocol than the listener, the broker closes the connection without an answer. kafkajs
 * reports that like the end of a broker. The patch reports the probable cause, unless a broker has answered at that
 * address before: the settings then fit.
 */
export function nameOtherProtocol({ connection: { prototype } }: ListenerParts): void {
  const { connect, send, rejectRequests } = prototype;
  prototype.connect = async function (this: Connection) {
    try {
      return await connect.call(this);
    } catch (error) {
      throw isEndOfHandshake(error) ? withOtherProtocol(this, error) : error;
    }
  };
  prototype.rejectRequests = function (this: Connection, error) {
    rejectRequests.call(this, isClosed(error) ? withOtherProtocol(this, error) : error);
  };
  prototype.send = async function (this: Connection, call) {
    const isAnswer = !apisAnsweredToAll.includes(call.request.apiKey);
    try {
      const response = await send.call(this, call);
      if (isAnswer) answeredAddresses.add(this.broker);
      return response;
    } catch (error) {
      // Only an error in an answer of the broker has a type.
      if (isAnswer && typeof (error as { type?: unknown }).type === 'string')
        answeredAddresses.add(this.broker);
      throw error;
    }
  };
}

function withOtherProtocol({ broker }: Connection, error: Error): Error {
  if (answeredAddresses.has(broker)) return error;
  const message = `${broker} accepts connections, but closes them before it answers (${error.message})`;
  return new kafkajs.KafkaJSConnectionError(message, { broker, code: otherProtocol });
}

/** A listener without TLS ends the handshake, or answers it in plain text. */
function isEndOfHandshake(error: unknown): error is Error {
  const { code, message } = error as { code?: unknown; message: string };
  return (
    plainAnswers.includes(String(code)) || message.includes('before secure TLS connection was established')
  );
}

/** Whether an error is the end of a connection that was open. */
const isClosed = (error: Error): boolean =>
  error.name === 'KafkaJSConnectionClosedError' || (error as { code?: unknown }).code === 'ECONNRESET';
