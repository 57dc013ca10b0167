import type { ChannelDocument } from '../../../../shared/documents/channel.ts';
import { toMilliseconds, toMillisecondsOrNull } from '../fields.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import {
  presentChatbotConfig,
  presentEmailConfig,
  presentFormConfig,
  presentSettings,
} from './config-presenter.ts';
import type { ChannelItem, ChannelResponse } from './schema.ts';
import { channelStatus, type IssueCode } from './status.ts';

type Channel = StateAndJoined<ChannelDocument>;

/** A channel in a list, with its status at `now`. */
export function presentChannelItem({ state, joined: { agent } }: Channel, now: Date): ChannelItem {
  const status = channelStatus(state, now);
  return {
    id: state.id,
    object: 'channel',
    type: state.type,
    name: state.name,
    status: {
      state: status.state,
      since: toMillisecondsOrNull(status.since),
      issues: status.issues.map((code) => ({ code, message: issueMessages[code] })),
    },
    agent: agent ? { id: agent.id, name: agent.name, disabled: agent.disabled } : null,
    createdAt: toMilliseconds(state.createdAt),
    updatedAt: toMilliseconds(state.updatedAt),
  };
}

/**
 * A retrieved channel, with its settings and configuration. Each case assigns `type` again, so that TypeScript relates
 * it to `config`. The JSON keeps the position of the first assignment.
 */
export function presentChannel(
  { state, joined }: Channel,
  { now, brand }: { now: Date; brand: string },
): ChannelResponse {
  const detail = {
    ...presentChannelItem({ state, joined }, now),
    dataRetentionDays: state.dataRetentionDays ?? null,
    settings: presentSettings(state.settings),
  };
  switch (state.type) {
    case 'email':
      return { ...detail, type: state.type, config: presentEmailConfig(state.config, brand) };
    case 'chatbot':
      return { ...detail, type: state.type, config: presentChatbotConfig(state.config) };
    case 'form':
      return { ...detail, type: state.type, config: presentFormConfig(state.config, joined) };
  }
}

const issueMessages: Record<IssueCode, string> = {
  mailbox_not_connected: 'No mailbox is connected to this inbox.',
  reconnect_needed: 'The mailbox connection has expired; reconnect it.',
  mailbox_disconnected: 'The mailbox has been disconnected.',
  sync_stalled: 'The mailbox could not be read for over 6 hours.',
  missing_domain: 'This inbox has no sending domain.',
  domain_not_verified: 'The DNS setup of the sending domain is not verified yet.',
};
