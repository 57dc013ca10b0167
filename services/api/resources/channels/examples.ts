import type { ChannelItem, ChannelResponse } from './schema.ts';

const item = {
  id: 'chan_01K1EMAIL',
  object: 'channel',
  type: 'email',
  name: 'Support inbox',
  status: {
    state: 'needs_attention',
    since: null,
    issues: [
      { code: 'domain_not_verified', message: 'The DNS setup of the sending domain is not verified yet.' },
    ],
  },
  agent: { id: 'agent_01K1BOT', name: 'Assistant', disabled: false },
  createdAt: '2025-10-01T07:30:00.000Z',
  updatedAt: '2026-01-20T10:11:12.345Z',
} satisfies ChannelItem;

const enabled = { enabled: true };

export const channelExample: ChannelResponse = {
  ...item,
  type: 'email',
  dataRetentionDays: 365,
  settings: {
    aiSummary: enabled,
    urgency: enabled,
    insights: { enabled: false },
    topics: enabled,
    aiDisclosure: enabled,
    utmTagging: { enabled: true, source: 'support', medium: 'email', campaign: null },
    autoResolve: { enabled: true, afterHours: 72 },
  },
  config: {
    inbox: 'support@example.com',
    displayName: 'Example Support',
    replyTo: null,
    description: 'Everything about billing',
    provider: 'forwarding',
    connection: null,
    sendingDomain: { domain: 'example.com', verificationStatus: 'verifying' },
    aiMode: { mode: 'autopilot', replyDelayMinutes: 5, aiDisplayName: 'Assistant' },
    signatures: { human: 'Your Example team', ai: null, useForNewMessages: true, useForReplies: false },
    autoReply: null,
    liveAt: '2025-10-02T08:00:00.000Z',
  },
};

export const channelListExample = {
  object: 'list' as const,
  data: [item],
  hasMore: false,
  nextCursor: null,
  url: '/v1/channels',
};
