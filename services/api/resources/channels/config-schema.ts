import { z } from 'zod';
import {
  choice,
  component,
  flag,
  nullableMilliseconds,
  nullableText,
  object,
  objectOrNull,
} from '../fields.ts';

const isEnabled = flag('Whether this feature is on.');
const toggle = (description: string) => object(description, { enabled: isEnabled });
const campaignField = (name: string) => nullableText.describe(`Value of \`${name}\`; null if none is set.`);

export const settingsSchema = component(
  'ChannelSettings',
  'Processing settings that all channel types share.',
  {
    aiSummary: toggle('Summaries of conversations, written by the AI.'),
    urgency: toggle('Scoring of the urgency of conversations.'),
    insights: toggle('The insights feature.'),
    topics: toggle('Detection of the topics of conversations.'),
    aiDisclosure: toggle('Disclosure that an AI answers.'),
    utmTagging: object('Campaign parameters in the links of replies.', {
      enabled: isEnabled,
      source: campaignField('utm_source'),
      medium: campaignField('utm_medium'),
      campaign: campaignField('utm_campaign'),
    }),
    autoResolve: object(
      'Automatic resolution of conversations. A field is omitted if the default of the channel type applies.',
      {
        enabled: isEnabled.optional(),
        afterHours: z
          .number()
          .optional()
          .describe('The number of hours without a message after which a conversation is resolved.'),
      },
    ),
  },
);

const connection = objectOrNull(
  'The connection to the mailbox; null for `forwarding`, or if no mailbox is connected.',
  {
    status: choice(['pending', 'connected', 'needs_reauth', 'disconnected'], 'The status of the connection.'),
    lastSyncedAt: nullableMilliseconds.describe(
      'When the mailbox was last read completely. Always null for providers other than Microsoft 365.',
    ),
  },
);

const customDomain = object('A domain of the organization from which mail is sent.', {
  domain: z.string().describe('Name of the domain.'),
  verificationStatus: choice(
    ['pending', 'verifying', 'verified', 'failed'],
    'The status of the verification of its DNS setup.',
  ),
});

const onlyAutopilot = 'Present only if `mode` is `autopilot`.';

type AiMode = { mode: string; replyDelayMinutes?: number | undefined; aiDisplayName?: string | undefined };

/** Whether an AI mode has both fields of the autopilot, or neither in another mode. */
const hasFieldsOfMode = ({ mode, replyDelayMinutes, aiDisplayName }: AiMode): boolean =>
  mode === 'autopilot'
    ? replyDelayMinutes !== undefined && aiDisplayName !== undefined
    : replyDelayMinutes === undefined && aiDisplayName === undefined;

const aiMode = z
  .strictObject({
    mode: choice(
      ['off', 'approval', 'autopilot'],
      '`off`: the AI does not take part. `approval`: the AI drafts replies, and a teammate sends them. `autopilot`: the AI replies on its own.',
    ),
    replyDelayMinutes: z
      .number()
      .optional()
      .describe(`The number of minutes that the AI waits before it replies. ${onlyAutopilot}`),
    aiDisplayName: z.string().optional().describe(`The name under which the AI replies. ${onlyAutopilot}`),
  })
  .refine(hasFieldsOfMode)
  .describe('The role of the AI for incoming mail.');

const signature = (whose: string) =>
  nullableText.describe(`The signature of ${whose}; null if there is none.`);

export const emailConfigSchema = component('EmailConfig', 'The configuration of an email inbox.', {
  inbox: z.string().describe('The address to which customers write.'),
  displayName: z.string().describe('The sender name of outgoing mail.'),
  replyTo: nullableText.describe('The Reply-To address of outgoing mail; null if none is set.'),
  description: nullableText.describe('An internal description; null if there is none.'),
  provider: choice(
    ['forwarding', 'microsoft', 'google'],
    '`forwarding`: mail is forwarded to the service. `microsoft`: the mailbox is in Microsoft 365. `google`: the mailbox is in Google Workspace.',
  ),
  connection,
  sendingDomain: z
    .union([
      z.string().describe("The brand of the service: mail is sent from the service's own domain."),
      customDomain,
    ])
    .nullable()
    .describe(
      'The domain from which mail is sent; null if none is set. Always null for providers other than `forwarding`.',
    ),
  aiMode,
  signatures: object('The signatures of outgoing mail.', {
    human: signature('teammates'),
    ai: signature('the AI'),
    useForNewMessages: flag('Whether new messages have a signature.'),
    useForReplies: flag('Whether replies have a signature.'),
  }),
  autoReply: nullableText.describe('The text of the automatic acknowledgement; null if there is none.'),
  liveAt: nullableMilliseconds.describe('When the inbox went live; null while it is `observing`.'),
});

const escalation = (rank: string) =>
  z
    .enum(['live_chat', 'email'])
    .nullable()
    .describe(`The ${rank} way to reach a person; null if there is none.`);

const routing = object('Who answers conversations in the widget.', {
  entry: choice(
    ['ai', 'live_chat_first', 'disabled'],
    '`ai`: the AI answers first. `live_chat_first`: a person answers first. `disabled`: neither does.',
  ),
  eagerness: z
    .enum(['lazy', 'neutral', 'eager'])
    .optional()
    .describe('How soon the AI hands a conversation over to a person. Present only if `entry` is `ai`.'),
  escalation: object('How a conversation is handed over to a person.', {
    primary: escalation('first'),
    fallback: escalation('second'),
  }),
  contactCapture: object('The contact details that the widget collects.', {
    name: flag('Whether the widget asks for the name.'),
    phone: flag('Whether the widget asks for the phone number.'),
    verifyEmail: flag('Whether the widget verifies the email address.'),
  }),
});

const allowedDomains = (channel: string) =>
  z.array(z.string()).describe(`The sites on which the ${channel} may load; an empty list means any site.`);

export const chatbotConfigSchema = component('ChatbotConfig', 'The configuration of a chat widget.', {
  layout: choice(['floating', 'panel', 'page', 'search'], 'The layout of the widget.'),
  languages: object('The languages of the widget.', {
    default: z.string().describe('The code of the default language.'),
    enabled: z.array(z.string()).describe('The codes of all enabled languages.'),
  }),
  routing,
  allowedDomains: allowedDomains('widget'),
  audience: object('The audience rules, which decide the knowledge that is available to a visitor.', {
    ruleCount: z.int().min(0).describe('The number of audience rules.'),
    fallback: choice(
      ['open', 'strict'],
      'The knowledge for a visitor who matches no rule. `open`: all of it. `strict`: only knowledge that ' +
        'is not restricted to an audience.',
    ),
  }),
  identityRequired: flag('True if the widget chats only with visitors whom the site has identified.'),
  privacyOptIn: choice(['explicit', 'implicit', 'none'], 'How visitors consent to data processing.'),
});

const field = object('A field of the form.', {
  label: z.string().describe('The label of the field.'),
  type: choice(
    ['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number'],
    'The input type of the field.',
  ),
  required: flag('Whether the visitor must fill in the field.'),
});

export const formConfigSchema = component('FormConfig', 'The configuration of a form.', {
  title: z.string().describe('The heading of the form.'),
  description: nullableText.describe('The text under the heading; null if there is none.'),
  fields: z.array(field).describe('The fields of the form, in order.'),
  routesTo: objectOrNull('The email inbox that receives submissions; null if there is none.', {
    id: z.string().describe('Id of the inbox.'),
    name: z.string().describe('Name of the inbox.'),
  }),
  allowedDomains: allowedDomains('form'),
  redirectUrl: nullableText.describe(
    'The URL to which the visitor goes after submitting; null if the visitor stays on the page.',
  ),
});

export type SettingsResponse = z.output<typeof settingsSchema>;
export type EmailConfigResponse = z.output<typeof emailConfigSchema>;
export type ChatbotConfigResponse = z.output<typeof chatbotConfigSchema>;
export type FormConfigResponse = z.output<typeof formConfigSchema>;
