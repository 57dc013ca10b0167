import { z } from 'zod';
import { anyId, instant, optional, text } from './fields.ts';

const sendingDomain = z.union([
  z.object({ hosted: z.literal(true) }),
  z.object({ domain: text, verificationStatus: z.enum(['pending', 'verifying', 'verified', 'failed']) }),
]);

const aiMode = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('off') }),
  z.object({ mode: z.literal('approval') }),
  z.object({ mode: z.literal('autopilot'), replyDelayMinutes: z.number(), aiDisplayName: text }),
]);

const email = z.object({
  inbox: text,
  displayName: text,
  replyTo: optional(text),
  description: optional(text),
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
    human: optional(text),
    ai: optional(text),
    useForNewMessages: z.boolean(),
    useForReplies: z.boolean(),
  }),
  autoReply: optional(text),
  liveAt: optional(instant),
});

const escalation = optional(z.enum(['live_chat', 'email']));

const chatbot = z.object({
  layout: z.enum(['floating', 'panel', 'page', 'search']),
  languages: z.object({ default: text, enabled: z.array(text) }),
  routing: z.object({
    entry: z.enum(['ai', 'live_chat_first', 'disabled']),
    eagerness: optional(z.enum(['lazy', 'neutral', 'eager'])),
    escalation: z.object({ primary: escalation, fallback: escalation }),
    contactCapture: z.object({ name: z.boolean(), phone: z.boolean(), verifyEmail: z.boolean() }),
  }),
  allowedDomains: z.array(text),
  audience: z.object({ ruleCount: z.int().min(0), fallback: z.enum(['open', 'strict']) }),
  identityRequired: z.boolean(),
  privacyOptIn: z.enum(['explicit', 'implicit', 'none']),
});

const form = z.object({
  title: text,
  description: optional(text),
  fields: z.array(
    z.object({
      label: text,
      type: z.enum(['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number']),
      required: z.boolean(),
    }),
  ),
  routesToChannelId: optional(anyId),
  allowedDomains: z.array(text),
  redirectUrl: optional(text),
});

/** The configuration blocks of the three channel types, as the bus carries them, less secrets. */
export const channelConfig = { email, chatbot, form };

export type EmailConfig = z.output<typeof email>;
export type ChatbotConfig = z.output<typeof chatbot>;
export type FormConfig = z.output<typeof form>;
