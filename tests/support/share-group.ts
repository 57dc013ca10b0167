import assert from 'node:assert';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/** ShareGroupHeartbeat (KIP-932), which kafkajs does not know. */
const apiKey = 76;
const apiVersion = 1;

const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const compact = (text: string) => Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)]);
const none = Buffer.from([0]);

/** Joins a share group as its only consumer, and leaves it. The group stays, empty. The broker is its coordinator. */
export async function createShareGroup(broker: string, groupId: string): Promise<void> {
  const memberId = randomBytes(16).toString('base64url');
  const [joins, leaves] = [0, -1];
  for (const epoch of [joins, leaves]) {
    const topics = epoch === joins ? Buffer.concat([Buffer.from([2]), compact(`${groupId}-topic`)]) : none;
    const body = [compact(groupId), compact(memberId), int32(epoch), none, topics, none];
    assert.equal(await heartbeat(broker, Buffer.concat(body)), 0, 'the broker accepts a share consumer');
  }
}

/** The error code of the answer. */
function heartbeat(broker: string, body: Buffer): Promise<number> {
  const correlationId = 1;
  const header = [int16(apiKey), int16(apiVersion), int32(correlationId), int16(-1), none];
  const request = Buffer.concat([...header, body]);
  const { hostname, port } = new URL(`kafka://${broker}`);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(Number(port), hostname, () =>
    socket.write(Buffer.concat([int32(request.length), request])),
  );
  let answer = Buffer.alloc(0);
  socket.on('error', reject);
  socket.on('data', (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk]);
    // Its length, the correlation id, no tags, the time of a throttle.
    const errorCode = 4 + 4 + 1 + 4;
    if (answer.length < errorCode + 2) return;
    resolve(answer.readInt16BE(errorCode));
    socket.destroy();
  });
  socket.on('close', () => reject(new Error('the broker has closed the connection')));
  return promise;
}
