import type { Admin } from 'kafkajs';
import { describeStrays, readMembers } from './group-members.ts';

/** The words for the strays of a group that is described with a protocol. */
const strays = async (protocol: string) => {
  const member = { memberId: 'm', clientId: 'c', clientHost: '/h', memberAssignment: Buffer.alloc(0) };
  const describeGroups = async () => ({ groups: [{ members: [member], protocol }] });
  return describeStrays(await readMembers({ describeGroups } as unknown as Admin, 'g'));
};

test('a group has a stray if it uses another protocol, and none while it rebalances and names no protocol', async () => {
  expect([await strays(''), await strays('RoundRobinAssigner')]).toEqual([null, null]);
  expect(await strays('range')).toContain('client c on h (protocol range)');
});
