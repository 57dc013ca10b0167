import { z } from 'zod';
import {
  anyId,
  exampleInstant,
  instant,
  listOf,
  longText,
  name,
  optional,
  refersTo,
  shortText,
} from './fields.ts';

/** `hosted`: mail is sent from the service's own domain. Otherwise the domain belongs to the organization. */
const sendingDomain = z.union([
  z.object({ hosted: z.literal(true) }),
  z.object({ domain: shortText, verificationStatus: z.enum(['pending', 'verifying', 'verified', 'failed']) }),
]);

const aiMode = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('off') }),
  z.object({ mode: z.literal('approval') }),
  z.object({ mode: z.literal('autopilot'), replyDelayMinutes: z.number(), aiDisplayName: name }),
]);

const email = z.object({
  inbox: shortText,
  displayName: name,
  replyTo: optional(shortText),
  description: optional(shortText),
  provider: z.enum(['forwarding', 'microsoft', 'google']),
  connection: optional(
    z.object({
      status: z.enum(['pending', 'connected', 'needs_reauth', 'disconnected']),
      lastSyncedAt: optional(instant),
      connectedAt: optional(instant),
    }),
  ),
  sendingDomain: optional(sendingDomain),
  aiMode,
  signatures: z.object({
    human: optional(longText),
    ai: optional(longText),
    useForNewMessages: z.boolean(),
    useForReplies: z.boolean(),
  }),
  autoReply: optional(longText),
  liveAt: optional(instant),
});

const escalation = optional(z.enum(['live_chat', 'email']));

const chatbot = z.object({
  layout: z.enum(['floating', 'panel', 'page', 'search']),
  languages: z.object({ default: name, enabled: listOf(name) }),
  routing: z.object({
    entry: z.enum(['ai', 'live_chat_first', 'disabled']),
    eagerness: optional(z.enum(['lazy', 'neutral', 'eager'])),
    escalation: z.object({ primary: escalation, fallback: escalation }),
    contactCapture: z.object({ name: z.boolean(), phone: z.boolean(), verifyEmail: z.boolean() }),
  }),
  allowedDomains: listOf(shortText),
  audience: z.object({ ruleCount: z.int().min(0), fallback: z.enum(['open', 'strict']) }),
  identityRequired: z.boolean(),
  privacyOptIn: z.enum(['explicit', 'implicit', 'none']),
});

const form = z.object({
  title: longText,
  description: optional(shortText),
  fields: listOf(
    z.object({
      label: name,
      type: z.enum(['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number']),
      required: z.boolean(),
    }),
  ),
  routesToChannelId: optional(refersTo('channel', anyId)),
  allowedDomains: listOf(shortText),
  redirectUrl: optional(shortText),
});

/** The configuration blocks of the three channel types as events carry them, without secrets. */
export const channelConfig = { email, chatbot, form };

type ChannelConfig = typeof channelConfig;
type ConfigInputs = { [Type in keyof ChannelConfig]: z.input<ChannelConfig[Type]> };

/** One configuration of each type, as the events of channels carry it. */
export const exampleConfig: ConfigInputs = {
  email: {
    inbox: 'help@example.com',
    displayName: 'Help',
    provider: 'microsoft',
    connection: { status: 'connected', connectedAt: exampleInstant },
    aiMode: { mode: 'off' },
    signatures: { useForNewMessages: true, useForReplies: false },
    liveAt: exampleInstant,
  },
  chatbot: {
    layout: 'floating',
    languages: { default: 'en', enabled: ['en'] },
    routing: {
      entry: 'ai',
      eagerness: 'neutral',
      escalation: { primary: 'live_chat' },
      contactCapture: { name: true, phone: false, verifyEmail: true },
    },
    allowedDomains: ['example.com'],
    audience: { ruleCount: 2, fallback: 'open' },
    identityRequired: false,
    privacyOptIn: 'none',
  },
  form: {
    title: 'Contact us',
    fields: [{ label: 'Mail', type: 'email', required: true }],
    allowedDomains: [],
  },
};

export type EmailConfig = z.output<typeof email>;
export type ChatbotConfig = z.output<typeof chatbot>;
export type FormConfig = z.output<typeof form>;
