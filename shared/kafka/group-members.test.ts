import { type Admin } from 'kafkajs';
import { describeForeignMembers, readMembers } from './group-members.ts';
import { encodeMembership, type Membership } from './member-metadata.ts';

const followed = { controlId: 'a', database: 'support', generation: 1 };
const own = { followed, topics: ['s.tags', 's.topics'] };

/** The words for the foreign members of a group with one member. */
const foreignMembers = async (protocol: string, memberMetadata: Buffer = Buffer.alloc(0)) => {
  const member = { memberId: 'c-1', clientId: 'c', clientHost: '/h', memberMetadata };
  const described = { ...member, memberAssignment: Buffer.alloc(0) };
  const describeGroups = async () => ({ groups: [{ members: [described], protocol }] });
  return describeForeignMembers(await readMembers({ describeGroups } as unknown as Admin, 'g', own));
};

const foreignMembersOf = (member: Partial<Membership>) =>
  foreignMembers('RoundRobinAssigner', encodeMembership({ ...own, ...member } as typeof own));

test('a group that rebalances shows no foreign member', async () => {
  expect([await foreignMembers(''), await foreignMembers('RoundRobinAssigner')]).toEqual([null, null]);
});

test('a group that uses another protocol has a foreign member', async () => {
  expect(await foreignMembers('range')).toContain('client c on h (protocol range), member c-1');
});

test('a projector of an earlier release with the same topics is not foreign', async () => {
  expect(await foreignMembersOf({})).toBeNull();
  // A release that follows an additional topic.
  expect(await foreignMembersOf({ topics: [...own.topics, 's.notes'] })).toBeNull();
  expect(await foreignMembersOf({ followed: null, topics: own.topics.toReversed() })).toBeNull();
});

test.each<[string, Partial<Membership>]>([
  ['follows generation 1 of the database staging', { followed: { ...followed, database: 'staging' } }],
  ['follows generation 1 of another database support', { followed: { ...followed, controlId: 'b' } }],
  ['follows generation 2 of the database support', { followed: { ...followed, generation: 2 } }],
  ['subscribes to t.tags and 1 more', { topics: ['t.tags', 't.topics'] }],
  ['subscribes to t.tags and 1 more', { followed: null, topics: ['t.tags', 't.topics'] }],
  ['subscribes to s.tags', { followed: null, topics: ['s.tags'] }],
  ['subscribes to no topic', { followed: null, topics: [] }],
])('a member that %s is foreign', async (words, member) => {
  expect(await foreignMembersOf(member)).toContain(`client c on h (${words}), member c-1`);
});
