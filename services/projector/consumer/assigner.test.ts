import type { GroupMember } from 'kafkajs';
import { memberMetadata } from '../../../shared/kafka/group-members.ts';
import { assignPartitions } from './assigner.ts';

const partitionsOf = (topic: string) => [0, 1, 2].map((partition) => ({ topic, partition }));
const partitions = [...partitionsOf('s.tags'), ...partitionsOf('s.topics')];
const member = (memberId: string, topics = ['s.tags', 's.topics']): GroupMember => ({
  memberId,
  memberMetadata: memberMetadata(topics),
});
const assign = (...members: GroupMember[]) => Object.fromEntries(assignPartitions(members, partitions));

test('members share the partitions in turn, in the order of their ids', () => {
  expect(assign(member('b'), member('a'))).toEqual({
    a: { 's.tags': [0, 2], 's.topics': [1] },
    b: { 's.tags': [1], 's.topics': [0, 2] },
  });
});

test('a topic goes only to the members that subscribe to it', () => {
  expect(assign(member('a', ['s.tags', 's.notes']), member('b'), member('c', ['s.notes']))).toEqual({
    a: { 's.tags': [0, 2] },
    b: { 's.tags': [1], 's.topics': [0, 1, 2] },
    c: {},
  });
});
