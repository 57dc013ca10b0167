import { z } from 'zod';
import { millisecondsSchema } from '../fields.ts';

const nullableText = z.string().nullable();
const isEnabled = z.boolean().describe('Whether it is on.');
const toggle = (description: string) => z.strictObject({ enabled: isEnabled }).describe(description);
const campaignField = (name: string) => nullableText.describe(`Value of \`${name}\`; null if none is set.`);

export const settingsSchema = z
  .strictObject({
    aiSummary: toggle('Summaries of conversations by AI.'),
    urgency: toggle('Scoring of urgency.'),
    insights: toggle('Insights.'),
    topics: toggle('Detection of topics.'),
    aiDisclosure: toggle('Telling people that an AI answers.'),
    utmTagging: z
      .strictObject({
        enabled: isEnabled,
        source: campaignField('utm_source'),
        medium: campaignField('utm_medium'),
        campaign: campaignField('utm_campaign'),
      })
      .describe('Campaign parameters on links in replies.'),
    autoResolve: z
      .strictObject({
        enabled: isEnabled.optional(),
        afterHours: z.number().optional().describe('Hours of silence after which it happens.'),
      })
      .describe("Resolving by itself; a member is left out when the channel type's default applies."),
  })
  .meta({ id: 'ChannelSettings', description: 'Processing settings that all channel types share.' });

const connection = z
  .strictObject({
    status: z
      .enum(['pending', 'connected', 'needs_reauth', 'disconnected'])
      .describe('How the connection stands.'),
    lastSyncedAt: millisecondsSchema
      .nullable()
      .describe('The last complete reading of the mailbox; Microsoft 365 only, else null.'),
  })
  .nullable()
  .describe('The mailbox connection; null for `forwarding`, or when nothing is connected.');

const customDomain = z
  .strictObject({
    domain: z.string().describe('The domain.'),
    verificationStatus: z
      .enum(['pending', 'verifying', 'verified', 'failed'])
      .describe('Whether its DNS setup has been verified.'),
  })
  .describe('A domain of the organization.');

const aiMode = z
  .discriminatedUnion('mode', [
    z
      .strictObject({ mode: z.literal('off').describe('The AI does not take part.') })
      .describe('The AI does not take part.'),
    z
      .strictObject({ mode: z.literal('approval').describe('The AI drafts, a person sends.') })
      .describe('The AI drafts, a person sends.'),
    z
      .strictObject({
        mode: z.literal('autopilot').describe('The AI replies by itself.'),
        replyDelayMinutes: z.number().describe('Minutes that it waits before a reply.'),
        aiDisplayName: z.string().describe('The name under which it replies.'),
      })
      .describe('The AI replies by itself.'),
  ])
  .describe('What the AI does with incoming mail.');

const signature = (whose: string) => nullableText.describe(`Signature of ${whose}; null if there is none.`);

export const emailConfigSchema = z
  .strictObject({
    inbox: z.string().describe('The address that customers write to.'),
    displayName: z.string().describe('Sender name on outgoing mail.'),
    replyTo: nullableText.describe('Override of Reply-To; null for none.'),
    description: nullableText.describe('Internal description; null for none.'),
    provider: z
      .enum(['forwarding', 'microsoft', 'google'])
      .describe('How mail comes in: forwarded, Microsoft 365 or Google Workspace.'),
    connection,
    sendingDomain: z
      .union([
        z.string().describe("The service's brand: mail leaves from the service's own domain."),
        customDomain,
      ])
      .nullable()
      .describe('Where mail leaves from; null when none is set, and for providers other than `forwarding`.'),
    aiMode,
    signatures: z
      .strictObject({
        human: signature('teammates'),
        ai: signature('the AI'),
        useForNewMessages: z.boolean().describe('Whether new messages carry them.'),
        useForReplies: z.boolean().describe('Whether replies carry them.'),
      })
      .describe('Signatures of outgoing mail.'),
    autoReply: nullableText.describe('Text of the automatic acknowledgement; null for none.'),
    liveAt: millisecondsSchema.nullable().describe('When the inbox went live; null while `observing`.'),
  })
  .meta({ id: 'EmailConfig', description: 'Configuration of an email inbox.' });

const escalation = (rank: string) =>
  z.enum(['live_chat', 'email']).nullable().describe(`${rank} way to a person; null for none.`);

const routing = z
  .strictObject({
    entry: z
      .enum(['ai', 'live_chat_first', 'disabled'])
      .describe('Who answers first: the AI, a person, or nobody.'),
    eagerness: z
      .enum(['lazy', 'neutral', 'eager'])
      .optional()
      .describe('How soon the AI escalates; present only when `entry` is `ai`.'),
    escalation: z
      .strictObject({ primary: escalation('First'), fallback: escalation('Second') })
      .describe('How a conversation gets to a person.'),
    contactCapture: z
      .strictObject({
        name: z.boolean().describe('Whether the name is asked for.'),
        phone: z.boolean().describe('Whether the phone number is asked for.'),
        verifyEmail: z.boolean().describe('Whether the address is verified.'),
      })
      .describe('What the widget asks visitors for.'),
  })
  .describe('How the widget leads conversations.');

const allowedDomains = (what: string) =>
  z.array(z.string()).describe(`Sites that the ${what} may load on; empty means any site.`);

export const chatbotConfigSchema = z
  .strictObject({
    layout: z.enum(['floating', 'panel', 'page', 'search']).describe('How the widget looks.'),
    languages: z
      .strictObject({
        default: z.string().describe('Language code.'),
        enabled: z.array(z.string()).describe('Language codes.'),
      })
      .describe('Languages of the widget.'),
    routing,
    allowedDomains: allowedDomains('widget'),
    audience: z
      .strictObject({
        ruleCount: z.int().min(0).describe('Number of audience rules.'),
        fallback: z
          .enum(['open', 'strict'])
          .describe(
            'For a visitor who matches no rule: `open` searches all knowledge, `strict` only what is not ' +
              'tied to an audience.',
          ),
      })
      .describe('Who may be answered from which knowledge.'),
    identityRequired: z
      .boolean()
      .describe('True when the widget chats only with visitors identified through user identification.'),
    privacyOptIn: z.enum(['explicit', 'implicit', 'none']).describe('How visitors consent.'),
  })
  .meta({ id: 'ChatbotConfig', description: 'Configuration of a chat widget.' });

const field = z
  .strictObject({
    label: z.string().describe('Its label.'),
    type: z
      .enum(['text', 'email', 'textarea', 'select', 'checkbox', 'phone', 'number'])
      .describe('Its kind of input.'),
    required: z.boolean().describe('Whether it has to be filled in.'),
  })
  .describe('A field of the form.');

export const formConfigSchema = z
  .strictObject({
    title: z.string().describe('Heading of the form.'),
    description: nullableText.describe('Text under the heading; null for none.'),
    fields: z.array(field).describe('The fields, in their order.'),
    routesTo: z
      .strictObject({
        id: z.string().describe('Id of the inbox.'),
        name: z.string().describe('Its name.'),
      })
      .nullable()
      .describe('The email inbox that receives submissions; null for none.'),
    allowedDomains: allowedDomains('form'),
    redirectUrl: nullableText.describe('Where the visitor goes after submitting; null to stay.'),
  })
  .meta({ id: 'FormConfig', description: 'Configuration of a form.' });

export type SettingsResponse = z.output<typeof settingsSchema>;
export type EmailConfigResponse = z.output<typeof emailConfigSchema>;
export type ChatbotConfigResponse = z.output<typeof chatbotConfigSchema>;
export type FormConfigResponse = z.output<typeof formConfigSchema>;
