import type { SourceState } from './encode.ts';

type ChannelState = SourceState<'channel'>;
export type EmailBlock = Extract<ChannelState, { type: 'email' }>['email'];
type ChatbotBlock = Extract<ChannelState, { type: 'chatbot' }>['chatbot'];
type FormBlock = Extract<ChannelState, { type: 'form' }>['form'];

const on = { enabled: true };
const off = { enabled: false };

/** Default settings by channel type. A chatbot's autoResolve is empty, so its type's default applies. */
export const settingsOf = (type: ChannelState['type']): ChannelState['settings'] => ({
  aiSummary: on,
  urgency: on,
  insights: type === 'form' ? off : on,
  topics: on,
  aiDisclosure: type === 'chatbot' ? on : off,
  utmTagging:
    type === 'chatbot'
      ? { ...on, source: 'chat', medium: 'widget', campaign: null }
      : { ...off, source: null },
  autoResolve: type === 'chatbot' ? {} : { enabled: true, afterHours: 72 },
});

/** An inbox in the organization's domain, with the secrets that the source system publishes. */
export function emailBlock(
  local: string,
  displayName: string,
  domain: string,
  rest: Pick<EmailBlock, 'provider'> & Partial<EmailBlock>,
): EmailBlock {
  const { connection, ...state } = rest;
  const secret = {
    credentials: { refreshToken: 'not-to-be-shown' },
    syncState: { deltaLink: 'not-to-be-shown' },
  };
  return {
    inbox: `${local}@${domain}`,
    displayName,
    replyTo: null,
    description: null,
    aiMode: { mode: 'approval' },
    signatures: {
      human: `Kind regards\nThe team of ${displayName}`,
      ai: null,
      useForNewMessages: true,
      useForReplies: false,
    },
    autoReply: 'We have received your message and answer within one working day.',
    ...(connection ? { connection: { ...connection, ...secret } } : {}),
    ...state,
  };
}

/** A chat widget, with the identity secret that the source system publishes. */
export function chatbotBlock(domain: string, rest: Partial<ChatbotBlock>): ChatbotBlock {
  const secret = { identitySecret: 'not-to-be-shown' };
  return {
    layout: 'floating',
    languages: { default: 'en', enabled: ['en', 'de', 'fr'] },
    routing: {
      entry: 'ai',
      eagerness: 'neutral',
      escalation: { primary: 'live_chat', fallback: 'email' },
      contactCapture: { name: true, phone: false, verifyEmail: true },
    },
    allowedDomains: [`www.${domain}`, domain],
    audience: { ruleCount: 2, fallback: 'open' },
    identityRequired: false,
    privacyOptIn: 'explicit',
    ...secret,
    ...rest,
  };
}

/** A form with default fields. */
export const formBlock = (
  title: string,
  routesToChannelId: string,
  rest: Partial<FormBlock> = {},
): FormBlock => ({
  title,
  description: 'We answer within one working day.',
  fields: [
    { label: 'Your name', type: 'text', required: true },
    { label: 'E-mail', type: 'email', required: true },
    { label: 'Order number', type: 'text', required: false },
    { label: 'How can we help?', type: 'textarea', required: true },
  ],
  routesToChannelId,
  allowedDomains: [],
  redirectUrl: null,
  ...rest,
});
