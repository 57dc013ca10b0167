import type { ChannelDocument } from '../../../../shared/documents/channel.ts';
import { toMilliseconds, toMillisecondsOrNull } from '../timestamps.ts';
import {
  presentChatbotConfig,
  presentEmailConfig,
  presentFormConfig,
  presentSettings,
} from './config-presenter.ts';
import type { ChannelItem, ChannelView } from './schema.ts';
import { channelStatus, type IssueCode } from './status.ts';

type Shown = Pick<ChannelDocument, 'own' | 'joined'>;

/** A channel in a list, as it stands at `now`. */
export const presentChannelItem = ({ own, joined }: Shown, now: Date): ChannelItem => ({
  ...presentCommon({ own, joined }, now),
  type: own.type,
});

/** A channel retrieved, with its settings and configuration. */
export function presentChannel(
  { own, joined }: Shown,
  { now, brand }: { now: Date; brand: string },
): ChannelView {
  const detail = {
    ...presentCommon({ own, joined }, now),
    dataRetentionDays: own.dataRetentionDays,
    settings: presentSettings(own.settings),
  };
  switch (own.type) {
    case 'email':
      return { ...detail, type: own.type, config: presentEmailConfig(own.config, brand) };
    case 'chatbot':
      return { ...detail, type: own.type, config: presentChatbotConfig(own.config) };
    case 'form':
      return { ...detail, type: own.type, config: presentFormConfig(own.config, joined) };
  }
}

function presentCommon({ own, joined: { agent } }: Shown, now: Date): Omit<ChannelItem, 'type'> {
  const { state, since, issues } = channelStatus(own, now);
  return {
    id: own.id,
    object: 'channel',
    name: own.name,
    status: {
      state,
      since: toMillisecondsOrNull(since),
      issues: issues.map((code) => ({ code, message: issueMessages[code] })),
    },
    agent: agent && { id: agent.id, name: agent.name, disabled: agent.disabled },
    createdAt: toMilliseconds(own.createdAt),
    updatedAt: toMilliseconds(own.updatedAt),
  };
}

const issueMessages: Record<IssueCode, string> = {
  mailbox_not_connected: 'No mailbox is connected to this inbox.',
  reconnect_needed: 'The mailbox connection has expired; reconnect it.',
  mailbox_disconnected: 'The mailbox has been disconnected.',
  sync_stalled: 'The mailbox could not be read for over 6 hours.',
  missing_domain: 'This inbox has no sending domain.',
  domain_not_verified: 'The DNS setup of the sending domain is not verified yet.',
};
