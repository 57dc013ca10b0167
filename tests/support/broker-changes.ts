import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { askBroker, int16, int32 } from './ask-broker.ts';
import { eventually } from './eventually.ts';

/** DescribeClientQuotas and AlterClientQuotas (KIP-546). */
const describeKey = 48;
const alterKey = 49;
const apiVersion = 0;

const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)]);
const double = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};
const int8 = (value: number) => Buffer.from([value]);
const boolean = (value: boolean) => int8(Number(value));
/** The length of an array with one element. */
const oneEntry = int32(1);
const header = (apiKey: number) => {
  const correlationId = 1;
  return Buffer.concat([int16(apiKey), int16(apiVersion), int32(correlationId), int16(-1)]);
};

/**
 * Resolves when the broker enforces every change of a configuration, an access rule or a quota that it has accepted. It
 * accepts a change before it enforces it, and it enforces changes in their order: two later ones, one after the other,
 * are visible only then.
 */
export async function untilEnforced(broker: string): Promise<void> {
  const clientId = randomUUID();
  for (const laterChange of [1, null]) {
    await alterQuota(broker, clientId, laterChange);
    await eventually(async () => (await describedQuota(broker, clientId)) === laterChange);
  }
}

/** Limits the bytes a second that the broker delivers to the clients with this id; null removes the limit. */
export async function setFetchQuota(broker: string, clientId: string, bytesPerSecond: number | null) {
  await alterQuota(broker, clientId, bytesPerSecond);
  await untilEnforced(broker);
}

async function alterQuota(broker: string, clientId: string, bytesPerSecond: number | null) {
  const entity = [oneEntry, text('client-id'), text(clientId)];
  const limit = [
    oneEntry,
    text('consumer_byte_rate'),
    double(bytesPerSecond ?? 0),
    boolean(bytesPerSecond === null),
  ];
  const validateOnly = boolean(false);
  const request = [header(alterKey), oneEntry, ...entity, ...limit, validateOnly];
  const answer = await askBroker(broker, Buffer.concat(request));
  // The error code follows the correlation id, the throttle time, and the number of entries.
  assert.equal(answer.readInt16BE(4 + 4 + 4), 0, 'the broker accepts a quota');
}

/** The limit that the broker describes for the clients with this id; null without a limit. */
async function describedQuota(broker: string, clientId: string): Promise<number | null> {
  const exactMatch = int8(0);
  const strict = boolean(true);
  const filter = [oneEntry, text('client-id'), exactMatch, text(clientId)];
  const answer = await askBroker(broker, Buffer.concat([header(describeKey), ...filter, strict]));
  // The error code follows the correlation id and the throttle time.
  assert.equal(answer.readInt16BE(4 + 4), 0, 'the broker describes its quotas');
  // The value of the only quota ends the answer. Without a quota, the answer ends with the number of entries.
  const entries = answer.readInt32BE(4 + 4 + 2 + 2);
  return entries === 0 ? null : answer.readDoubleBE(answer.length - 8);
}
