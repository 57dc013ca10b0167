import kafkajs, { type Assigner, type GroupMember, type PartitionAssigner } from 'kafkajs';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import { ownProtocol } from '../../../shared/kafka/group-members.ts';
import {
  decodeMembership,
  encodeMembership,
  type Followed,
  type OwnMembership,
  whyForeign,
} from '../../../shared/kafka/member-metadata.ts';

/**
 * Creates the assigner that announces a projector's generation to its group. The leader of the group calls `assign`,
 * which gives the members partitions in turn, but a foreign member none. The assigner has the name and the metadata of
 * the one of kafkajs, because projectors of earlier releases in the group use that one.
 */
export const createAssigner =
  (followed: Followed): PartitionAssigner =>
  ({ cluster }): Assigner => ({
    name: ownProtocol,
    version: 0,
    protocol: ({ topics }) => ({ name: ownProtocol, metadata: encodeMembership({ followed, topics }) }),
    assign: async ({ members, topics }) => {
      const partitions = topics.flatMap((topic) =>
        cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId }): TopicPartition => ({ topic, partition: partitionId })),
      );
      const assigned = assignPartitions({ followed, topics }, members, partitions);
      return [...assigned].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
          version: 0,
          assignment,
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });

type Assigned = Map<string, Record<string, number[]>>;

/**
 * Returns the partitions of each member, by its id. Only members that subscribe to a topic get its partitions: during
 * an update, one release may follow a topic that another does not know.
 */
export function assignPartitions(
  own: OwnMembership,
  members: GroupMember[],
  partitions: TopicPartition[],
): Assigned {
  // A foreign member has an assignment too, without a partition.
  const assigned: Assigned = new Map(members.map(({ memberId }) => [memberId, {}]));
  const projectors = members
    .flatMap(({ memberId, memberMetadata }) => {
      const membership = decodeMembership(memberMetadata);
      const isOwn = membership !== null && whyForeign(own, membership) === null;
      return isOwn ? [{ memberId, topics: membership.topics }] : [];
    })
    .toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1));
  for (const [index, { topic, partition }] of partitions.entries()) {
    const subscribers = projectors.filter(({ topics }) => topics.includes(topic));
    const assignee = subscribers[index % subscribers.length];
    const assignment = assignee && assigned.get(assignee.memberId);
    if (assignment) (assignment[topic] ??= []).push(partition);
  }
  return assigned;
}
