import type { Channel, ChannelJoined } from '../../../../shared/documents/channel.ts';
import type { ChatbotConfig, EmailConfig, FormConfig } from '../../../../shared/documents/channel-config.ts';
import { pick } from '../../../../shared/runtime/pick.ts';
import { toMillisecondsOrNull } from '../fields.ts';
import type {
  ChatbotConfigResponse,
  EmailConfigResponse,
  FormConfigResponse,
  SettingsResponse,
} from './config-schema.ts';

/** Presents the configuration of an inbox. `brand` stands for the service's own domain. */
export const presentEmailConfig = (config: EmailConfig, brand: string): EmailConfigResponse => ({
  inbox: config.inbox,
  displayName: config.displayName,
  replyTo: config.replyTo ?? null,
  description: config.description ?? null,
  provider: config.provider,
  connection: presentConnection(config),
  sendingDomain: presentSendingDomain(config, brand),
  aiMode: presentAiMode(config.aiMode),
  signatures: {
    human: config.signatures.human ?? null,
    ai: config.signatures.ai ?? null,
    useForNewMessages: config.signatures.useForNewMessages,
    useForReplies: config.signatures.useForReplies,
  },
  autoReply: config.autoReply ?? null,
  liveAt: toMillisecondsOrNull(config.liveAt),
});

function presentAiMode(aiMode: EmailConfig['aiMode']): EmailConfigResponse['aiMode'] {
  if (aiMode.mode !== 'autopilot') return pick(aiMode, ['mode']);
  return pick(aiMode, ['mode', 'replyDelayMinutes', 'aiDisplayName']);
}

function presentConnection({ provider, connection }: EmailConfig): EmailConfigResponse['connection'] {
  if (!connection || provider === 'forwarding') return null;
  const lastSyncedAt = provider === 'microsoft' ? connection.lastSyncedAt : null;
  return { status: connection.status, lastSyncedAt: toMillisecondsOrNull(lastSyncedAt) };
}

function presentSendingDomain(config: EmailConfig, brand: string): EmailConfigResponse['sendingDomain'] {
  const { provider, sendingDomain } = config;
  if (!sendingDomain || provider !== 'forwarding') return null;
  if ('hosted' in sendingDomain) return brand;
  return pick(sendingDomain, ['domain', 'verificationStatus']);
}

export const presentChatbotConfig = (config: ChatbotConfig): ChatbotConfigResponse => ({
  layout: config.layout,
  languages: pick(config.languages, ['default', 'enabled']),
  routing: presentRouting(config.routing),
  allowedDomains: config.allowedDomains,
  audience: pick(config.audience, ['ruleCount', 'fallback']),
  identityRequired: config.identityRequired,
  privacyOptIn: config.privacyOptIn,
});

function presentRouting(routing: ChatbotConfig['routing']): ChatbotConfigResponse['routing'] {
  const { entry, eagerness } = routing;
  const escalation = {
    primary: routing.escalation.primary ?? null,
    fallback: routing.escalation.fallback ?? null,
  };
  const contactCapture = pick(routing.contactCapture, ['name', 'phone', 'verifyEmail']);
  // Only an entry by AI has an eagerness.
  if (entry === 'ai' && eagerness) return { entry, eagerness, escalation, contactCapture };
  return { entry, escalation, contactCapture };
}

export const presentFormConfig = (config: FormConfig, { routesTo }: ChannelJoined): FormConfigResponse => ({
  title: config.title,
  description: config.description ?? null,
  fields: config.fields.map((field) => pick(field, ['label', 'type', 'required'])),
  routesTo: routesTo ? pick(routesTo, ['id', 'name']) : null,
  allowedDomains: config.allowedDomains,
  redirectUrl: config.redirectUrl ?? null,
});

export const presentSettings = (settings: Channel['settings']): SettingsResponse => ({
  aiSummary: { enabled: settings.aiSummary.enabled },
  urgency: { enabled: settings.urgency.enabled },
  insights: { enabled: settings.insights.enabled },
  topics: { enabled: settings.topics.enabled },
  aiDisclosure: { enabled: settings.aiDisclosure.enabled },
  utmTagging: {
    enabled: settings.utmTagging.enabled,
    source: settings.utmTagging.source ?? null,
    medium: settings.utmTagging.medium ?? null,
    campaign: settings.utmTagging.campaign ?? null,
  },
  autoResolve: presentAutoResolve(settings.autoResolve),
});

/** Omits a field that is not set, because the default of the channel type applies to it. */
function presentAutoResolve({ enabled, afterHours }: Channel['settings']['autoResolve']) {
  const autoResolve: SettingsResponse['autoResolve'] = {};
  if (typeof enabled === 'boolean') autoResolve.enabled = enabled;
  if (typeof afterHours === 'number') autoResolve.afterHours = afterHours;
  return autoResolve;
}
