import assert from 'node:assert';
import { askBroker, int16, int32 } from './ask-broker.ts';

/** AlterClientQuotas (KIP-546). */
const apiKey = 49;
const apiVersion = 0;

const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)]);
const double = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};
const boolean = (value: boolean) => Buffer.from([Number(value)]);

/** Limits the bytes a second that brokers deliver to the clients with this id; null removes the limit. */
export async function setFetchQuota(broker: string, clientId: string, bytesPerSecond: number | null) {
  const oneEntry = int32(1);
  const entity = [oneEntry, text('client-id'), text(clientId)];
  const limit = [
    oneEntry,
    text('consumer_byte_rate'),
    double(bytesPerSecond ?? 0),
    boolean(bytesPerSecond === null),
  ];
  const correlationId = 1;
  const header = [int16(apiKey), int16(apiVersion), int32(correlationId), int16(-1)];
  const request = [...header, oneEntry, ...entity, ...limit, boolean(false)];
  const answer = await askBroker(broker, Buffer.concat(request));
  // The error code follows the correlation id, the throttle time, and the number of entries.
  assert.equal(answer.readInt16BE(4 + 4 + 4), 0, 'the broker accepts a quota');
}
