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
/** A null text or list. */
const none = Buffer.from([0]);
const noTags = Buffer.from([0]);
const listOf = (text: string) => Buffer.concat([Buffer.from([2]), compact(text)]);

const newMemberId = () => randomBytes(16).toString('base64url');

/** Joins a share group as its only consumer, and leaves it. The group stays, empty. The broker is its coordinator. */
export async function createShareGroup(broker: string, groupId: string): Promise<void> {
  const memberId = newMemberId();
  for (const epoch of [joinEpoch, leaveEpoch]) {
    const topics = epoch === joinEpoch ? listOf(`${groupId}-topic`) : none;
    const noRack = none;
    const body = [compact(groupId), compact(memberId), int32(epoch), noRack, topics, noTags];
    await sendHeartbeat(broker, shareHeartbeat, body);
  }
}

/**
 * Joins a consumer group as a client with `group.protocol=consumer`. The broker is its coordinator.
 * The result leaves the group, which stays, empty.
 */
export async function joinByConsumerProtocol(
  broker: string,
  groupId: string,
  topic: string,
): Promise<() => Promise<void>> {
  const memberId = newMemberId();
  const noInstanceId = none;
  const noRack = none;
  const rebalanceTimeoutMs = int32(60_000);
  const noPattern = none;
  const noAssignor = none;
  const beat = (epoch: number, topics: Buffer, owned: Buffer) => {
    const member = [compact(groupId), compact(memberId), int32(epoch), noInstanceId, noRack];
    const subscription = [rebalanceTimeoutMs, topics, noPattern, noAssignor, owned];
    return sendHeartbeat(broker, consumerHeartbeat, [...member, ...subscription, noTags]);
  };
  const noPartitions = Buffer.from([1]);
  await beat(joinEpoch, listOf(topic), noPartitions);
  return () => beat(leaveEpoch, none, none);
}

async function sendHeartbeat(broker: string, { apiKey, version }: Heartbeat, body: Buffer[]): Promise<void> {
  const correlationId = int32(1);
  const noClientId = int16(-1);
  const header = [int16(apiKey), int16(version), correlationId, noClientId, noTags];
  const answer = await askBroker(broker, Buffer.concat([...header, ...body]));
  // The code follows the correlation id, an empty list of tags, and the throttle time.
  assert.equal(answer.readInt16BE(4 + 1 + 4), 0, 'the broker accepts the heartbeat');
}
