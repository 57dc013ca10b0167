import { type Admin } from 'kafkajs';
import { describeForeignMembers, protocolOf, readMembers } from './group-members.ts';

const followed = { controlId: 'a', database: 'support', generation: 1 };

/** The words for the foreign members of a group with one member. */
const foreignMembers = async (protocol: string) => {
  const member = { memberId: 'c-1', clientId: 'c', clientHost: '/h', memberAssignment: Buffer.alloc(0) };
  const describeGroups = async () => ({ groups: [{ members: [member], protocol }] });
  const admin = { describeGroups } as unknown as Admin;
  return describeForeignMembers(await readMembers(admin, 'g', protocolOf(followed)));
};

test.each([
  ['rebalances, so that it shows no protocol', ''],
  ['has the protocol of this generation', protocolOf(followed)],
])('a group that %s has no foreign member', async (_, protocol) => {
  expect(await foreignMembers(protocol)).toBeNull();
});

test.each([
  ['of another client', 'range'],
  ['of another database', protocolOf({ ...followed, database: 'staging' })],
  ['of a database of the same name on another server', protocolOf({ ...followed, controlId: 'b' })],
  ['of another generation', protocolOf({ ...followed, generation: 2 })],
])('the members of a group with the protocol %s are foreign', async (_, protocol) => {
  expect(await foreignMembers(protocol)).toContain(`client c on h (protocol: ${protocol}), member c-1`);
});
