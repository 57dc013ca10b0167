import assert from 'node:assert';
import { randomBytes } from 'node:crypto';
import { askBroker, int16, int32 } from './ask-broker.ts';

/** A request of a client whose group gets its assignment from the coordinator. */
type Heartbeat = { apiKey: number; version: number };
/** KIP-848 */
const consumerHeartbeat: Heartbeat = { apiKey: 68, version: 1 };
/** KIP-932 */
const shareHeartbeat: Heartbeat = { apiKey: 76, version: 1 };

const joinEpoch = 0;
const leaveEpoch = -1;

const compact = (text: string) => Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)]);
/** A null text or list, or an empty list of tags. */
const none = Buffer.from([0]);
const emptyList = Buffer.from([1]);
const listOf = (text: string) => Buffer.concat([Buffer.from([2]), compact(text)]);

const newMemberId = () => randomBytes(16).toString('base64url');

/** Joins a share group as its only consumer, and leaves it. The group stays, empty. The broker is its coordinator. */
export async function createShareGroup(broker: string, groupId: string): Promise<void> {
  const memberId = newMemberId();
  for (const epoch of [joinEpoch, leaveEpoch]) {
    const topics = epoch === joinEpoch ? listOf(`${groupId}-topic`) : none;
    const body = [compact(groupId), compact(memberId), int32(epoch), none, topics, none];
    await sendHeartbeat(broker, shareHeartbeat, body);
  }
}

/** Joins a consumer group as a client with `group.protocol=consumer`. The broker is its coordinator. */
export async function joinByConsumerProtocol(broker: string, groupId: string, topic: string): Promise<void> {
  const rebalanceTimeoutMs = 60_000;
  await sendHeartbeat(broker, consumerHeartbeat, [
    ...[compact(groupId), compact(newMemberId()), int32(joinEpoch)],
    // No instance id and no rack.
    ...[none, none, int32(rebalanceTimeoutMs), listOf(topic)],
    // No pattern of topics, no assignor, no owned partitions, no tags.
    ...[none, none, emptyList, none],
  ]);
}

async function sendHeartbeat(broker: string, { apiKey, version }: Heartbeat, body: Buffer[]): Promise<void> {
  const correlationId = 1;
  const header = [int16(apiKey), int16(version), int32(correlationId), int16(-1), none];
  const answer = await askBroker(broker, Buffer.concat([...header, ...body]));
  // The code follows the correlation id, an empty list of tags, and the throttle time.
  assert.equal(answer.readInt16BE(4 + 1 + 4), 0, 'the broker accepts the heartbeat');
}
