import { type Cluster, type GroupMember, type Logger, PartitionAssigners } from 'kafkajs';
import { encodeMembership, type OwnMembership } from '../../../shared/kafka/member-metadata.ts';
import { assignPartitions } from './assigner.ts';

const topics = ['s.tags', 's.topics'];
const own: OwnMembership = { followed: { controlId: 'a', database: 'support', generation: 1 }, topics };
const partitions = topics.flatMap((topic) => [0, 1, 2].map((partition) => ({ topic, partition })));

const member = (memberId: string, changes: Partial<OwnMembership> = {}): GroupMember => ({
  memberId,
  memberMetadata: encodeMembership({ ...own, ...changes }),
});
/** A member with the assigner of kafkajs, as in earlier releases. */
const earlierMember = (memberId: string, subscribed = topics): GroupMember => {
  const config = { cluster: {} as Cluster, groupId: 'g', logger: {} as Logger };
  const assigner = PartitionAssigners.roundRobin(config);
  return { memberId, memberMetadata: assigner.protocol({ topics: subscribed }).metadata };
};
const assign = (...members: GroupMember[]) => Object.fromEntries(assignPartitions(own, members, partitions));

test('projectors of this and of an earlier release share the partitions in turn', () => {
  expect(assign(earlierMember('b'), member('a'))).toEqual({
    a: { 's.tags': [0, 2], 's.topics': [1] },
    b: { 's.tags': [1], 's.topics': [0, 2] },
  });
});

test('a foreign member gets no partition', () => {
  const all = { 's.tags': [0, 1, 2], 's.topics': [0, 1, 2] };
  const staging = { ...own.followed, database: 'staging' };
  const unreadable = { memberId: 'x', memberMetadata: Buffer.alloc(1) };
  const foreignMembers = [member('b', { followed: staging }), earlierMember('c', ['t.tags']), unreadable];
  expect(assign(...foreignMembers, member('z'))).toEqual({ b: {}, c: {}, x: {}, z: all });
});

test('a topic goes only to the members that subscribe to it', () => {
  expect(assign(member('a', { topics: ['s.tags', 's.notes'] }), member('b'))).toEqual({
    a: { 's.tags': [0, 2] },
    b: { 's.tags': [1], 's.topics': [0, 1, 2] },
  });
});
