import kafkajs, { type Admin } from 'kafkajs';
import { partitionKey } from '../control/topic-partition.ts';
import { errorChain, errorMessage } from '../runtime/error-message.ts';
import { decodeMembership, type OwnMembership, whyForeign } from './member-metadata.ts';

/** The member of a consumer group that a partition is assigned to: a projector. */
export type Owner = { memberId: string; clientId: string; host: string };

/** A member with its partitions, each as `<topic>/<partition>`. */
export type Member = Owner & {
  partitions: string[];
  /**
   * Why the member is foreign, in words; null for a projector of this generation, or if the group hides its members.
   */
  foreignBecause: string | null;
};

/** The name under which the assigner of kafkajs joins a group. Projectors of every release use it. */
export const ownProtocol = 'RoundRobinAssigner';

/**
 * Reads the members of a consumer group from its coordinator, by id, and compares them with a projector that would join
 * it. Needs Kafka's right Describe on the group.
 */
export async function readMembers(
  admin: Pick<Admin, 'describeGroups'>,
  groupId: string,
  own: OwnMembership,
): Promise<Member[]> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups
    .flatMap(({ members, protocol }) => members.map((member) => ({ ...member, protocol })))
    .map(({ memberId, clientId, clientHost, memberMetadata, memberAssignment, protocol }) => {
      const host = clientHost.replace(/^\//, '');
      // Empty while the group rebalances.
      if (!['', ownProtocol].includes(protocol))
        return { memberId, clientId, host, partitions: [], foreignBecause: `protocol ${protocol}` };
      const membership = decodeMembership(memberMetadata);
      const foreignBecause = membership && whyForeign(own, membership);
      return { memberId, clientId, host, partitions: assignedTo(memberAssignment), foreignBecause };
    })
    .toSorted((a, b) => a.memberId.localeCompare(b.memberId));
}

function assignedTo(memberAssignment: Buffer): string[] {
  // Null while the group rebalances.
  const { assignment = {} } = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
  return Object.entries(assignment).flatMap(([topic, numbers]) =>
    numbers.map((partition) => partitionKey({ topic, partition })),
  );
}

/** The errors of a group that refuses a client, by type. */
const groupErrors = [
  'GROUP_AUTHORIZATION_FAILED',
  'INCONSISTENT_GROUP_PROTOCOL',
  'INVALID_GROUP_ID',
  'INVALID_SESSION_TIMEOUT',
  'GROUP_MAX_SIZE_REACHED',
];

/** Adds the name of the group to the error of a group that refuses this client. Returns any other error as it is. */
export function withGroupName(groupId: string, error: unknown): unknown {
  const types = errorChain(error).map((cause) => (cause as { type?: string }).type ?? '');
  if (!types.some((type) => groupErrors.includes(type))) return error;
  return new Error(`${groupId} (CONSUMER_GROUP): ${errorMessage(error)}`, { cause: error });
}

/** Runs `work` with a group. Names the group in an error with which the group refuses this client. */
export async function inGroup<T>(groupId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw withGroupName(groupId, error);
  }
}

/** The foreign members of a group, in words; null without foreign members. */
export function describeForeignMembers(members: Member[]): string | null {
  const foreignMembers = members.flatMap(({ memberId, clientId, host, foreignBecause }) =>
    foreignBecause === null ? [] : [`client ${clientId} on ${host} (${foreignBecause}), member ${memberId}`],
  );
  if (foreignMembers.length === 0) return null;
  return (
    `another client is in the consumer group of these projectors: ${foreignMembers.join('; ')}. Stop it, or set ` +
    'CONSUMER_GROUP to a group of its own for one of the two'
  );
}
