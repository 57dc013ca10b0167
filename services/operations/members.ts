import kafkajs, { type Admin } from 'kafkajs';
import { partitionKey } from '../../shared/control/topic-partition.ts';

/** The member of a consumer group that a partition is assigned to: a projector. */
export type Owner = { memberId: string; clientId: string; host: string };

/** A member with its partitions, each as `<topic>/<partition>`. */
export type Member = Owner & { partitions: string[] };

/** Reads the members of a consumer group from its coordinator, by id. Needs Kafka's right Describe on the group. */
export async function readMembers(admin: Pick<Admin, 'describeGroups'>, groupId: string): Promise<Member[]> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups
    .flatMap(({ members }) => members)
    .map(({ memberId, clientId, clientHost, memberAssignment }) => {
      // Null while the group rebalances.
      const { assignment = {} } = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
      const partitions = Object.entries(assignment).flatMap(([topic, numbers]) =>
        numbers.map((partition) => partitionKey({ topic, partition })),
      );
      return { memberId, clientId, host: clientHost.replace(/^\//, ''), partitions };
    })
    .toSorted((a, b) => a.memberId.localeCompare(b.memberId));
}
