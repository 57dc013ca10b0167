import type { Channel, ChannelJoined } from '../../../../shared/documents/channel.ts';
import type { ChatbotConfig, EmailConfig, FormConfig } from '../../../../shared/documents/channel-config.ts';
import { toMillisecondsOrNull } from '../fields.ts';
import type {
  ChatbotConfigResponse,
  EmailConfigResponse,
  FormConfigResponse,
  SettingsResponse,
} from './config-schema.ts';

/** `brand` stands for the service's own domain if mail is sent from there. */
export const presentEmailConfig = (config: EmailConfig, brand: string): EmailConfigResponse => ({
  inbox: config.inbox,
  displayName: config.displayName,
  replyTo: config.replyTo,
  description: config.description,
  provider: config.provider,
  connection: presentConnection(config),
  sendingDomain: presentSendingDomain(config, brand),
  aiMode: presentAiMode(config.aiMode),
  signatures: {
    human: config.signatures.human,
    ai: config.signatures.ai,
    useForNewMessages: config.signatures.useForNewMessages,
    useForReplies: config.signatures.useForReplies,
  },
  autoReply: config.autoReply,
  liveAt: toMillisecondsOrNull(config.liveAt),
});

function presentConnection({ provider, connection }: EmailConfig): EmailConfigResponse['connection'] {
  if (!connection || provider === 'forwarding') return null;
  const lastSyncedAt = provider === 'microsoft' ? connection.lastSyncedAt : null;
  return { status: connection.status, lastSyncedAt: toMillisecondsOrNull(lastSyncedAt) };
}

function presentSendingDomain(config: EmailConfig, brand: string): EmailConfigResponse['sendingDomain'] {
  const { provider, sendingDomain } = config;
  if (!sendingDomain || provider !== 'forwarding') return null;
  if ('hosted' in sendingDomain) return brand;
  return { domain: sendingDomain.domain, verificationStatus: sendingDomain.verificationStatus };
}

const presentAiMode = (aiMode: EmailConfig['aiMode']): EmailConfigResponse['aiMode'] =>
  aiMode.mode === 'autopilot'
    ? { mode: 'autopilot', replyDelayMinutes: aiMode.replyDelayMinutes, aiDisplayName: aiMode.aiDisplayName }
    : { mode: aiMode.mode };

export const presentChatbotConfig = ({ routing, ...config }: ChatbotConfig): ChatbotConfigResponse => ({
  layout: config.layout,
  languages: { default: config.languages.default, enabled: config.languages.enabled },
  routing: {
    entry: routing.entry,
    ...(routing.entry === 'ai' && routing.eagerness ? { eagerness: routing.eagerness } : {}),
    escalation: { primary: routing.escalation.primary, fallback: routing.escalation.fallback },
    contactCapture: {
      name: routing.contactCapture.name,
      phone: routing.contactCapture.phone,
      verifyEmail: routing.contactCapture.verifyEmail,
    },
  },
  allowedDomains: config.allowedDomains,
  audience: { ruleCount: config.audience.ruleCount, fallback: config.audience.fallback },
  identityRequired: config.identityRequired,
  privacyOptIn: config.privacyOptIn,
});

export const presentFormConfig = (config: FormConfig, { routesTo }: ChannelJoined): FormConfigResponse => ({
  title: config.title,
  description: config.description,
  fields: config.fields.map(({ label, type, required }) => ({ label, type, required })),
  routesTo: routesTo && { id: routesTo.id, name: routesTo.name },
  allowedDomains: config.allowedDomains,
  redirectUrl: config.redirectUrl,
});

export const presentSettings = (settings: Channel['settings']): SettingsResponse => ({
  aiSummary: { enabled: settings.aiSummary.enabled },
  urgency: { enabled: settings.urgency.enabled },
  insights: { enabled: settings.insights.enabled },
  topics: { enabled: settings.topics.enabled },
  aiDisclosure: { enabled: settings.aiDisclosure.enabled },
  utmTagging: {
    enabled: settings.utmTagging.enabled,
    source: settings.utmTagging.source,
    medium: settings.utmTagging.medium,
    campaign: settings.utmTagging.campaign,
  },
  autoResolve: {
    ...(settings.autoResolve.enabled === null ? {} : { enabled: settings.autoResolve.enabled }),
    ...(settings.autoResolve.afterHours === null ? {} : { afterHours: settings.autoResolve.afterHours }),
  },
});
