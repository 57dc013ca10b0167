import kafkajs, { type Admin } from 'kafkajs';
import { partitionKey } from '../control/topic-partition.ts';
import { errorChain, errorMessage } from '../runtime/error-message.ts';

/** The member of a consumer group that a partition is assigned to: a projector. */
export type Owner = { memberId: string; clientId: string; host: string };

/** A member with its partitions, each as `<topic>/<partition>`. */
export type Member = Owner & {
  partitions: string[];
  /** The reason why the member is foreign; null for a projector of the generation, or while the group rebalances. */
  foreignBecause: string | null;
};

/** The generation that a projector follows, as its consumer group sees it. */
type Followed = {
  /** The id of the control database, which differs between MongoDB servers; null before a projector has made the id. */
  controlId: string | null;
  /** `DATABASE_NAME` */
  database: string;
  generation: number;
};

/**
 * The name of the protocol by which the projectors of a generation join their group. All members of a group have the
 * protocol in common, so Kafka admits no client of another generation or deployment, except clients with
 * `group.protocol=consumer`: `joinedByConsumerProtocol`.
 */
export const protocolOf = ({ controlId, database, generation }: Followed): string =>
  `generation ${generation} of the database ${database}, id ${controlId}`;

/** The metadata with which a projector joins its group: the topics to which it subscribes. */
export const memberMetadata = (topics: string[]): Buffer =>
  kafkajs.AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) });

/**
 * Reads the members of a consumer group from its coordinator, by id. Members by another protocol than `ownProtocol` are
 * foreign. Needs Kafka's right Describe on the group.
 */
export async function readMembers(
  admin: Pick<Admin, 'describeGroups'>,
  groupId: string,
  ownProtocol: string,
): Promise<Member[]> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups
    .flatMap(({ members, protocol }) => members.map((member) => ({ ...member, protocol })))
    .map(({ memberId, clientId, clientHost, memberAssignment, protocol }) => {
      const host = clientHost.replace(/^\//, '');
      // Empty while the group rebalances.
      if (!['', ownProtocol].includes(protocol))
        return { memberId, clientId, host, partitions: [], foreignBecause: `protocol: ${protocol}` };
      return { memberId, clientId, host, partitions: assignedTo(memberAssignment), foreignBecause: null };
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
function withGroupName(groupId: string, error: unknown): unknown {
  const types = errorChain(error).map((cause) => (cause as { type?: string }).type ?? '');
  if (!types.some((type) => groupErrors.includes(type))) return error;
  return new Error(ofGroup(groupId, errorMessage(error)), { cause: error });
}

const ofGroup = (groupId: string, text: string): string => `${groupId} (CONSUMER_GROUP): ${text}`;

/** Runs `work` with a group. Names the group in an error with which the group refuses this client. */
export async function inGroup<T>(groupId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw withGroupName(groupId, error);
  }
}

const separate = 'Stop it, or set CONSUMER_GROUP to a group of its own for one of the two';

/** The foreign members of a group, in words; null without foreign members. */
export function describeForeignMembers(members: Member[]): string | null {
  const foreignMembers = members.flatMap(({ memberId, clientId, host, foreignBecause }) =>
    foreignBecause === null ? [] : [`client ${clientId} on ${host} (${foreignBecause}), member ${memberId}`],
  );
  if (foreignMembers.length === 0) return null;
  return `another client is in the consumer group of these projectors: ${foreignMembers.join('; ')}. ${separate}`;
}

/** Another client has the consumer group, so it serves no projector of this generation. */
export class GroupTaken extends Error {
  override name = 'GroupTaken';

  constructor(groupId: string, reason: string) {
    super(ofGroup(groupId, reason));
  }
}

/**
 * The error of a group that a client with `group.protocol=consumer` has joined. By default Kafka 4 lets such a client
 * into any group, takes over the assignment, and gives that client partitions of the projectors. The description of the
 * group then names no members.
 */
export const joinedByConsumerProtocol = (groupId: string): GroupTaken =>
  new GroupTaken(
    groupId,
    `a client with group.protocol=consumer is in the consumer group of these projectors. ${separate}`,
  );

type Group = { admin: Pick<Admin, 'describeGroups'>; groupId: string; protocol: string };

/**
 * Whether a client with `group.protocol=consumer` is in a group. The group then has members, so it refuses a member of
 * another type, but Kafka describes it as a group that does not exist.
 */
export async function isJoinedByConsumerProtocol(
  admin: Pick<Admin, 'describeGroups'>,
  groupId: string,
  tryJoinAs: (type: string) => Promise<void>,
): Promise<boolean> {
  try {
    await tryJoinAs('probe');
    return false;
  } catch (error) {
    if (!isInconsistent(error)) throw error;
  }
  const [group] = (await admin.describeGroups([groupId])).groups;
  return group?.state === 'Dead';
}

const isInconsistent = (error: unknown): boolean =>
  errorChain(error).some((cause) => (cause as { type?: string }).type === 'INCONSISTENT_GROUP_PROTOCOL');

/**
 * Adds the name of the group to an error with which it refused a projector. Returns `GroupTaken`, which names the
 * foreign members, if they are the cause. Never rejects.
 */
export async function explainRefusal({ admin, groupId, protocol }: Group, error: Error): Promise<Error> {
  const members = isInconsistent(error) ? await readMembers(admin, groupId, protocol).catch(() => []) : [];
  const foreignMembers = describeForeignMembers(members);
  if (foreignMembers === null) return withGroupName(groupId, error) as Error;
  return new GroupTaken(groupId, foreignMembers);
}
