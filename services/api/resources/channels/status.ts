import type { Channel } from '../../../../shared/documents/channel.ts';
import type { EmailConfig } from '../../../../shared/documents/channel-config.ts';

export const channelStates = ['live', 'observing', 'paused', 'needs_attention', 'archived'] as const;
export const issueCodes = [
  'mailbox_not_connected',
  'reconnect_needed',
  'mailbox_disconnected',
  'sync_stalled',
  'missing_domain',
  'domain_not_verified',
] as const;

type ChannelState = (typeof channelStates)[number];
export type IssueCode = (typeof issueCodes)[number];
type ChannelStatus = { state: ChannelState; since: Date | null; issues: IssueCode[] };

/** A Microsoft 365 mailbox counts as stalled if the service has not read it for longer than this. */
const stalledAfterMs = 6 * 60 * 60 * 1_000;

/** The status of a channel at `now`. If several states apply, the first one below wins. */
export function channelStatus(channel: Channel, now: Date): ChannelStatus {
  const issues = channel.type === 'email' ? emailIssues(channel.config, now) : [];
  const { archivedAt, pausedAt, resumedAt } = channel;
  const liveAt = channel.type === 'email' ? channel.config.liveAt : null;
  if (archivedAt) return { state: 'archived', since: archivedAt, issues };
  const isResumed = pausedAt && resumedAt && resumedAt > pausedAt;
  if (pausedAt && !isResumed) return { state: 'paused', since: pausedAt, issues };
  if (issues.length > 0) return { state: 'needs_attention', since: null, issues };
  if (channel.type === 'email' && !liveAt) return { state: 'observing', since: resumedAt, issues };
  return { state: 'live', since: later(liveAt, resumedAt), issues };
}

function emailIssues({ provider, connection, sendingDomain }: EmailConfig, now: Date): IssueCode[] {
  if (provider === 'forwarding') return domainIssues(sendingDomain);
  // An inbox without a connection has the same issue as an inbox whose connection is pending.
  const issue = connectionIssues[connection?.status ?? 'pending'];
  if (issue) return [issue];
  const readAt = connection?.lastSyncedAt ?? connection?.connectedAt;
  const isStalled = readAt && now.getTime() - readAt.getTime() > stalledAfterMs;
  return provider === 'microsoft' && isStalled ? ['sync_stalled'] : [];
}

const connectionIssues: Record<NonNullable<EmailConfig['connection']>['status'], IssueCode | null> = {
  pending: 'mailbox_not_connected',
  connected: null,
  needs_reauth: 'reconnect_needed',
  disconnected: 'mailbox_disconnected',
};

function domainIssues(domain: EmailConfig['sendingDomain']): IssueCode[] {
  if (!domain) return ['missing_domain'];
  if ('hosted' in domain) return [];
  return domain.verificationStatus === 'verified' ? [] : ['domain_not_verified'];
}

function later(a: Date | null, b: Date | null): Date | null {
  if (!a || !b) return a ?? b;
  return a > b ? a : b;
}
