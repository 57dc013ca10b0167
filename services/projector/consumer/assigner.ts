import kafkajs, { type Assigner, type GroupMember, type PartitionAssigner } from 'kafkajs';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import { memberMetadata } from '../../../shared/kafka/group-members.ts';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;

/**
 * Creates the assigner of a projector, which joins its group by this protocol. The leader of the group calls `assign`,
 * which gives the members partitions in turn.
 */
export const createAssigner =
  (protocol: string): PartitionAssigner =>
  ({ cluster }): Assigner => ({
    name: protocol,
    version: 0,
    protocol: ({ topics }) => ({ name: protocol, metadata: memberMetadata(topics) }),
    assign: async ({ members, topics }) => {
      const partitions: TopicPartition[] = [];
      for (const topic of topics) {
        const found = cluster.findTopicPartitionMetadata(topic);
        for (const { partitionId } of found) partitions.push({ topic, partition: partitionId });
      }
      const assigned = [...assignPartitions(members, partitions)];
      return assigned.map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) }),
      }));
    },
  });

type Assigned = Map<string, Record<string, number[]>>;

/**
 * Returns the partitions of each member, by its id. Only members that subscribe to a topic get its partitions: during
 * an update, one release may follow a topic that another does not know.
 */
export function assignPartitions(members: GroupMember[], partitions: TopicPartition[]): Assigned {
  const assigned: Assigned = new Map();
  const subscriptions = members
    .toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1))
    .map((member) => ({
      memberId: member.memberId,
      topics: MemberMetadata.decode(member.memberMetadata)?.topics ?? [],
    }));
  for (const { memberId } of subscriptions) assigned.set(memberId, {});
  for (const [index, { topic, partition }] of partitions.entries()) {
    const subscribers = subscriptions.filter(({ topics }) => topics.includes(topic));
    const assignee = subscribers[index % subscribers.length];
    const assignment = assignee && assigned.get(assignee.memberId);
    if (assignment) (assignment[topic] ??= []).push(partition);
  }
  return assigned;
}
