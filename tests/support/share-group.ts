import assert from 'node:assert';
import { randomBytes } from 'node:crypto';
import { askBroker, int16, int32 } from './ask-broker.ts';

/** ShareGroupHeartbeat (KIP-932). */
const apiKey = 76;
const apiVersion = 1;

const compact = (text: string) => Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)]);
const none = Buffer.from([0]);

/** Joins a share group as its only consumer, and leaves it. The group stays, empty. The broker is its coordinator. */
export async function createShareGroup(broker: string, groupId: string): Promise<void> {
  const memberId = randomBytes(16).toString('base64url');
  const joinEpoch = 0;
  const leaveEpoch = -1;
  for (const epoch of [joinEpoch, leaveEpoch]) {
    const topics =
      epoch === joinEpoch ? Buffer.concat([Buffer.from([2]), compact(`${groupId}-topic`)]) : none;
    const body = [compact(groupId), compact(memberId), int32(epoch), none, topics, none];
    assert.equal(await sendHeartbeat(broker, Buffer.concat(body)), 0, 'the broker accepts a share consumer');
  }
}

/** Sends one heartbeat. Returns the error code of the answer. */
async function sendHeartbeat(broker: string, body: Buffer): Promise<number> {
  const correlationId = 1;
  const header = [int16(apiKey), int16(apiVersion), int32(correlationId), int16(-1), none];
  const answer = await askBroker(broker, Buffer.concat([...header, body]));
  // The code follows the correlation id, an empty list of tags, and the throttle time.
  return answer.readInt16BE(4 + 1 + 4);
}
