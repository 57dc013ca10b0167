import kafkajs, { type Admin } from 'kafkajs';
import { partitionKey } from '../control/topic-partition.ts';

/** The member of a consumer group that a partition is assigned to: a projector. */
export type Owner = { memberId: string; clientId: string; host: string };

/** A member with its partitions, each as `<topic>/<partition>`. */
export type Member = Owner & {
  partitions: string[];
  /** The protocol of its group if that is another than the projectors', so that none of them can join; else null. */
  otherProtocol: string | null;
};

/** The name under which the assigner of kafkajs joins a group. */
const ownProtocol = 'RoundRobinAssigner';

/** Reads the members of a consumer group from its coordinator, by id. Needs Kafka's right Describe on the group. */
export async function readMembers(admin: Pick<Admin, 'describeGroups'>, groupId: string): Promise<Member[]> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups
    .flatMap(({ members, protocol }) => members.map((member) => ({ ...member, protocol })))
    .map(({ memberId, clientId, clientHost, memberAssignment, protocol }) => {
      const host = clientHost.replace(/^\//, '');
      // Empty while the group rebalances.
      const otherProtocol = ['', ownProtocol].includes(protocol) ? null : protocol;
      if (otherProtocol !== null) return { memberId, clientId, host, partitions: [], otherProtocol };
      // Null while the group rebalances.
      const { assignment = {} } = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
      const partitions = Object.entries(assignment).flatMap(([topic, numbers]) =>
        numbers.map((partition) => partitionKey({ topic, partition })),
      );
      return { memberId, clientId, host, partitions, otherProtocol };
    })
    .toSorted((a, b) => a.memberId.localeCompare(b.memberId));
}

/** The members that keep every projector out of its group, in words; null if there is none. */
export function describeStrays(members: Member[]): string | null {
  const strays = members.flatMap(({ clientId, host, otherProtocol }) =>
    otherProtocol === null ? [] : [`client ${clientId} on ${host} (protocol ${otherProtocol})`],
  );
  return strays.length === 0
    ? null
    : `another client is in the consumer group, so that no projector can join: ${strays.join(', ')}. Stop it, or ` +
        'give it a group of its own';
}
