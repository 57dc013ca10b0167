import { z } from 'zod';
import { nullableMilliseconds, nullableText } from '../fields.ts';

const isEnabled = z.boolean().describe('Whether this feature is on.');
const toggle = (description: string) => z.strictObject({ enabled: isEnabled }).describe(description);
const campaignField = (name: string) => nullableText.describe(`Value of \`${name}\`; null if none is set.`);

export const settingsSchema = z
  .strictObject({
    aiSummary: toggle('Summaries of conversations, written by the AI.'),
    urgency: toggle('Scoring of the urgency of conversations.'),
    insights: toggle('The insights feature.'),
    topics: toggle('Detection of the topics of conversations.'),
    aiDisclosure: toggle('Disclosure that an AI answers.'),
    utmTagging: z
      .strictObject({
        enabled: isEnabled,
        source: campaignField('utm_source'),
        medium: campaignField('utm_medium'),
        campaign: campaignField('utm_campaign'),
      })
      .describe('Campaign parameters in the links of replies.'),
    autoResolve: z
      .strictObject({
        enabled: isEnabled.optional(),
        afterHours: z
          .number()
          .optional()
          .describe('The number of hours without a message after which a conversation is resolved.'),
      })
      .describe(
        'Automatic resolution of conversations. A field is omitted if the default of the channel type applies.',
      ),
  })
  .meta({ id: 'ChannelSettings', description: 'Processing settings that all channel types share.' });

const connection = z
  .strictObject({
    status: z
      .enum(['pending', 'connected', 'needs_reauth', 'disconnected'])
      .describe('The status of the connection.'),
    lastSyncedAt: nullableMilliseconds.describe(
      'When the mailbox was last read completely. Always null for providers other than Microsoft 365.',
    ),
  })
  .nullable()
  .describe('The connection to the mailbox; null for `forwarding`, or if no mailbox is connected.');

const customDomain = z
  .strictObject({
    domain: z.string().describe('Name of the domain.'),
    verificationStatus: z
      .enum(['pending', 'verifying', 'verified', 'failed'])
      .describe('The status of the verification of its DNS setup.'),
  })
  .describe('A domain of the organization from which mail is sent.');

const onlyAutopilot = 'Present only if `mode` is `autopilot`.';
const aiMode = z
  .strictObject({
    mode: z
      .enum(['off', 'approval', 'autopilot'])
      .describe(
        '`off`: the AI does not take part. `approval`: the AI drafts replies, and a teammate sends them. `autopilot`: the AI replies on its own.',
      ),
    replyDelayMinutes: z
      .number()
      .optional()
      .describe(`The number of minutes that the AI waits before it replies. ${onlyAutopilot}`),
    aiDisplayName: z.string().optional().describe(`The name under which the AI replies. ${onlyAutopilot}`),
  })
  .refine(({ mode, replyDelayMinutes, aiDisplayName }) =>
    [replyDelayMinutes, aiDisplayName].every((value) => (value !== undefined) === (mode === 'autopilot')),
  )
  .describe('The role of the AI for incoming mail.');

const signature = (whose: string) =>
  nullableText.describe(`The signature of ${whose}; null if there is none.`);

export const emailConfigSchema = z
  .strictObject({
    inbox: z.string().describe('The address to which customers write.'),
    displayName: z.string().describe('The sender name of outgoing mail.'),
    replyTo: nullableText.describe('The Reply-To address of outgoing mail; null if none is set.'),
    description: nullableText.describe('An internal description; null if there is none.'),
    provider: z
      .enum(['forwarding', 'microsoft', 'google'])
      .describe(
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
    signatures: z
      .strictObject({
        human: signature('teammates'),
        ai: signature('the AI'),
        useForNewMessages: z.boolean().describe('Whether new messages have a signature.'),
        useForReplies: z.boolean().describe('Whether replies have a signature.'),
      })
      .describe('The signatures of outgoing mail.'),
    autoReply: nullableText.describe('The text of the automatic acknowledgement; null if there is none.'),
    liveAt: nullableMilliseconds.describe('When the inbox went live; null while it is `observing`.'),
  })
  .meta({ id: 'EmailConfig', description: 'The configuration of an email inbox.' });

const escalation = (rank: string) =>
  z
    .enum(['live_chat', 'email'])
    .nullable()
    .describe(`The ${rank} way to reach a person; null if there is none.`);

const routing = z
  .strictObject({
    entry: z
      .enum(['ai', 'live_chat_first', 'disabled'])
      .describe(
        '`ai`: the AI answers first. `live_chat_first`: a person answers first. `disabled`: neither does.',
      ),
    eagerness: z
      .enum(['lazy', 'neutral', 'eager'])
      .optional()
      .describe('How soon the AI hands a conversation over to a person. Present only if `entry` is `ai`.'),
    escalation: z
      .strictObject({ primary: escalation('first'), fallback: escalation('second') })
      .describe('How a conversation is handed over to a person.'),
    contactCapture: z
      .strictObject({
        name: z.boolean().describe('Whether the widget asks for the name.'),
        phone: z.boolean().describe('Whether the widget asks for the phone number.'),
        verifyEmail: z.boolean().describe('Whether the widget verifies the email address.'),
      })
      .describe('The contact details that the widget collects.'),
  })
  .describe('Who answers conversations in the widget.');

const allowedDomains = (channel: string) =>
  z.array(z.string()).describe(`The sites on which the ${channel} may load; an empty list means any site.`);

export const chatbotConfigSchema = z
  .strictObject({
    layout: z.enum(['floating', 'panel', 'page', 'search']).describe('The layout of the widget.'),
    languages: z
      .strictObject({
        default: z.string().describe('The code of the default language.'),
        enabled: z.array(z.string()).describe('The codes of all enabled languages.'),
      })
      .describe('The languages of the widget.'),
    routing,
    allowedDomains: allowedDomains('widget'),
    audience: z
      .strictObject({
        ruleCount: z.int().min(0).describe('The number of audience rules.'),
        fallback: z
          .enum(['open', 'strict'])
          .describe(
            'The knowledge for a visitor who matches no rule. `open`: all of it. `strict`: only knowledge that ' +
              'is not tied to an audience.',
          ),
      })
      .describe('The audience rules, which decide the knowledge that is available to a visitor.'),
    identityRequired: z
      .boolean()
      .describe(
        'True if the widget chats only with visitors who have been identified through user identification.',
      ),
    privacyOptIn: z
      .enum(['explicit', 'implicit', 'none'])
      .describe('How visitors consent to data processing.'),
  })
  .meta({ id: 'ChatbotConfig', description: 'The configuration of a chat widget.' });

const field = z
  .strictObject({
    label: z.string().describe('The label of the field.'),
    type: z
      .enum(['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number'])
      .describe('The input type of the field.'),
    required: z.boolean().describe('Whether the visitor must fill in the field.'),
  })
  .describe('A field of the form.');

export const formConfigSchema = z
  .strictObject({
    title: z.string().describe('The heading of the form.'),
    description: nullableText.describe('The text under the heading; null if there is none.'),
    fields: z.array(field).describe('The fields of the form, in order.'),
    routesTo: z
      .strictObject({
        id: z.string().describe('Id of the inbox.'),
        name: z.string().describe('Name of the inbox.'),
      })
      .nullable()
      .describe('The email inbox that receives submissions; null if there is none.'),
    allowedDomains: allowedDomains('form'),
    redirectUrl: nullableText.describe(
      'The URL to which the visitor goes after submitting; null if the visitor stays on the page.',
    ),
  })
  .meta({ id: 'FormConfig', description: 'The configuration of a form.' });

export type SettingsResponse = z.output<typeof settingsSchema>;
export type EmailConfigResponse = z.output<typeof emailConfigSchema>;
export type ChatbotConfigResponse = z.output<typeof chatbotConfigSchema>;
export type FormConfigResponse = z.output<typeof formConfigSchema>;
