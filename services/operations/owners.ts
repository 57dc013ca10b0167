import kafkajs, { type Admin } from 'kafkajs';
import { partitionKey } from '../../shared/control/topic-partition.ts';

/** The member of a consumer group that a partition is assigned to: a projector. */
export type Owner = { memberId: string; clientId: string; host: string };

/**
 * Reads the owner of each partition from the coordinator of a consumer group, by `<topic>/<partition>`. Empty while no
 * member has joined. Needs Kafka's right Describe on the group.
 */
export async function readOwners(
  admin: Pick<Admin, 'describeGroups'>,
  groupId: string,
): Promise<Map<string, Owner>> {
  const { groups } = await admin.describeGroups([groupId]);
  const owners = new Map<string, Owner>();
  for (const { memberId, clientId, clientHost, memberAssignment } of groups.flatMap(
    ({ members }) => members,
  )) {
    const host = clientHost.replace(/^\//, '');
    // Null while the group rebalances.
    const decoded = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment);
    for (const [topic, partitions] of Object.entries(decoded?.assignment ?? {}))
      for (const partition of partitions)
        owners.set(partitionKey({ topic, partition }), { memberId, clientId, host });
  }
  return owners;
}
