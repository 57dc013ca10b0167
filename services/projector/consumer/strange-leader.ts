import type { Admin } from 'kafkajs';
import { describeStrangers, namingGroup, readMembers } from '../../../shared/kafka/group-members.ts';
import type { OwnMembership } from '../../../shared/kafka/member-metadata.ts';
import { errorChain } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { retry } from '../../../shared/store/retry.ts';

type GroupDeps = { admin: Admin; groupId: string; own: OwnMembership };

type Deps = GroupDeps & { logger: Logger; onFatal: (error: Error) => void };

const pauseMs = 1_000;

/**
 * Looks for strangers in the group, after each assignment of its partitions. The leader of a group assigns them. If it
 * is a stranger, this projector gets none that it can apply: it ends, and says which member to stop. If a projector of
 * this generation leads, strangers get none, and the log names them.
 */
export async function refuseStrangeLeader(deps: Deps, leaderId: string, signal: AbortSignal): Promise<void> {
  const { admin, groupId, own, logger, onFatal } = deps;
  const onFailed = (error: unknown) => {
    if (signal.aborted) throw error;
    logger.warn({ error }, 'could not read the members of the group; trying again');
  };
  const read = () => readMembers(admin, groupId, own);
  const members = await retry({ pauseMs, onFailed, signal }, read).catch(() => []);
  const strangers = describeStrangers(members);
  if (strangers === null || signal.aborted) return;
  if (members.some(({ memberId, stranger }) => memberId === leaderId && stranger !== null))
    onFatal(strangeGroup(groupId, strangers));
  else logger.warn({ strangers }, 'the consumer group has other members; they get no partition');
}

/** If the group refuses the projector, the error names it, and the other members if they show. Never rejects. */
export async function explainRefusal({ admin, groupId, own }: GroupDeps, error: Error): Promise<Error> {
  const types = errorChain(error).map((cause) => (cause as { type?: string }).type);
  const isRefused = types.includes('INCONSISTENT_GROUP_PROTOCOL');
  const members = isRefused ? await readMembers(admin, groupId, own).catch(() => []) : [];
  const strangers = describeStrangers(members);
  if (strangers === null) return namingGroup(groupId, error) as Error;
  return strangeGroup(groupId, strangers);
}

const strangeGroup = (groupId: string, strangers: string): Error =>
  new Error(`${groupId} (CONSUMER_GROUP): ${strangers}`);
