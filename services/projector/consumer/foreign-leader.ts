import type { Admin } from 'kafkajs';
import { describeForeignMembers, readMembers, withGroupName } from '../../../shared/kafka/group-members.ts';
import type { OwnMembership } from '../../../shared/kafka/member-metadata.ts';
import { errorChain } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { retry } from '../../../shared/store/retry.ts';

type GroupDeps = { admin: Admin; groupId: string; own: OwnMembership };

type ForeignLeaderDeps = GroupDeps & { logger: Logger; onFatal: (error: Error) => void };

const pauseMs = 1_000;

/**
 * Checks the members of the group after each assignment. A foreign leader assigns this projector no partition that it
 * can apply, so the projector ends and names the member to stop. A leader of this generation gives foreign members no
 * partition, so the log only names them.
 */
export async function refuseForeignLeader(
  deps: ForeignLeaderDeps,
  leaderId: string,
  signal: AbortSignal,
): Promise<void> {
  const { admin, groupId, own, logger, onFatal } = deps;
  const onFailed = (error: unknown) => {
    if (signal.aborted) throw error;
    logger.warn({ error }, 'could not read the members of the group; trying again');
  };
  const read = () => readMembers(admin, groupId, own);
  const members = await retry({ pauseMs, onFailed, signal }, read).catch(() => []);
  const foreignMembers = describeForeignMembers(members);
  if (foreignMembers === null || signal.aborted) return;
  if (members.some(({ memberId, foreignBecause }) => memberId === leaderId && foreignBecause !== null))
    onFatal(sharedGroup(groupId, foreignMembers));
  else logger.warn({ foreignMembers }, 'the consumer group has other members; they get no partition');
}

/**
 * Adds the name of the group to an error with which it refused the projector, and the foreign members that caused it.
 * Never rejects.
 */
export async function explainRefusal({ admin, groupId, own }: GroupDeps, error: Error): Promise<Error> {
  const named = withGroupName(groupId, error) as Error;
  const types = errorChain(error).map((cause) => (cause as { type?: string }).type);
  if (!types.includes('INCONSISTENT_GROUP_PROTOCOL')) return named;
  const members = await readMembers(admin, groupId, own).catch(() => []);
  const foreignMembers = describeForeignMembers(members);
  return foreignMembers === null ? named : sharedGroup(groupId, foreignMembers);
}

const sharedGroup = (groupId: string, foreignMembers: string): Error =>
  new Error(`${groupId} (CONSUMER_GROUP): ${foreignMembers}`);
