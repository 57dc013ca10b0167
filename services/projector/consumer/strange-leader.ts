import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { describeStrangers, readMembers } from '../../../shared/kafka/group-members.ts';
import type { OwnMembership } from '../../../shared/kafka/member-metadata.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';

type Deps = {
  admin: Admin;
  groupId: string;
  own: OwnMembership;
  logger: Logger;
  onFatal: (error: Error) => void;
};

const retryDelayMs = 1_000;

/**
 * Looks for strangers in the group, after each assignment of its partitions. The leader of a group assigns them. If it
 * is a stranger, this projector gets none that it can apply: it ends, and says which member to stop. If a projector of
 * this generation leads, strangers get none, and the log names them.
 */
export async function refuseStrangeLeader(deps: Deps, leaderId: string, signal: AbortSignal): Promise<void> {
  const { admin, groupId, own, logger, onFatal } = deps;
  while (!signal.aborted) {
    try {
      const members = await readMembers(admin, groupId, own);
      const strangers = describeStrangers(members);
      if (strangers === null || signal.aborted) return;
      const isStrange = members.some(({ memberId, stranger }) => memberId === leaderId && stranger !== null);
      if (isStrange) return onFatal(new Error(`${groupId} (CONSUMER_GROUP): ${strangers}`));
      return logger.warn({ strangers }, 'the consumer group has other members; they get no partition');
    } catch (error) {
      logger.warn({ error }, 'could not read the members of the group; trying again');
      await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
