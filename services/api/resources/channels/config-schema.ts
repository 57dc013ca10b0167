import { z } from 'zod';
import { millisecondsSchema } from '../timestamps.ts';

const nullableText = z.string().nullable();
const enabled = z.strictObject({ enabled: z.boolean() });

export const settingsSchema = z.strictObject({
  aiSummary: enabled,
  urgency: enabled,
  insights: enabled,
  topics: enabled,
  aiDisclosure: enabled,
  utmTagging: z.strictObject({
    enabled: z.boolean(),
    source: nullableText,
    medium: nullableText,
    campaign: nullableText,
  }),
  /** A member is left out when the channel type's default applies. */
  autoResolve: z.strictObject({ enabled: z.boolean().optional(), afterHours: z.number().optional() }),
});

export const emailConfigSchema = z.strictObject({
  inbox: z.string(),
  displayName: z.string(),
  replyTo: nullableText,
  description: nullableText,
  provider: z.enum(['forwarding', 'microsoft', 'google']),
  connection: z
    .strictObject({
      status: z.enum(['pending', 'connected', 'needs_reauth', 'disconnected']),
      lastSyncedAt: millisecondsSchema.nullable(),
    })
    .nullable(),
  /** A text is the service's brand: mail leaves from its own domain. */
  sendingDomain: z
    .union([
      z.string(),
      z.strictObject({
        domain: z.string(),
        verificationStatus: z.enum(['pending', 'verifying', 'verified', 'failed']),
      }),
    ])
    .nullable(),
  aiMode: z.discriminatedUnion('mode', [
    z.strictObject({ mode: z.literal('off') }),
    z.strictObject({ mode: z.literal('approval') }),
    z.strictObject({
      mode: z.literal('autopilot'),
      replyDelayMinutes: z.number(),
      aiDisplayName: z.string(),
    }),
  ]),
  signatures: z.strictObject({
    human: nullableText,
    ai: nullableText,
    useForNewMessages: z.boolean(),
    useForReplies: z.boolean(),
  }),
  autoReply: nullableText,
  liveAt: millisecondsSchema.nullable(),
});

const escalation = z.enum(['live_chat', 'email']).nullable();

export const chatbotConfigSchema = z.strictObject({
  layout: z.enum(['floating', 'panel', 'page', 'search']),
  languages: z.strictObject({ default: z.string(), enabled: z.array(z.string()) }),
  routing: z.strictObject({
    entry: z.enum(['ai', 'live_chat_first', 'disabled']),
    /** Only where the AI answers first. */
    eagerness: z.enum(['lazy', 'neutral', 'eager']).optional(),
    escalation: z.strictObject({ primary: escalation, fallback: escalation }),
    contactCapture: z.strictObject({ name: z.boolean(), phone: z.boolean(), verifyEmail: z.boolean() }),
  }),
  allowedDomains: z.array(z.string()),
  audience: z.strictObject({ ruleCount: z.int().min(0), fallback: z.enum(['open', 'strict']) }),
  identityRequired: z.boolean(),
  privacyOptIn: z.enum(['explicit', 'implicit', 'none']),
});

export const formConfigSchema = z.strictObject({
  title: z.string(),
  description: nullableText,
  fields: z.array(
    z.strictObject({
      label: z.string(),
      type: z.enum(['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number']),
      required: z.boolean(),
    }),
  ),
  routesTo: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  allowedDomains: z.array(z.string()),
  redirectUrl: nullableText,
});

export type SettingsView = z.output<typeof settingsSchema>;
export type EmailConfigView = z.output<typeof emailConfigSchema>;
export type ChatbotConfigView = z.output<typeof chatbotConfigSchema>;
export type FormConfigView = z.output<typeof formConfigSchema>;
