import { z } from 'zod';
import { channelTypes } from '../../../../shared/documents/channel.ts';
import { oneOf } from '../../http/parameters.ts';
import { listEnvelope, listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import {
  choice,
  component,
  flag,
  millisecondsSchema,
  nullableMilliseconds,
  object,
  objectOrNull,
} from '../fields.ts';
import { chatbotConfigSchema, emailConfigSchema, formConfigSchema, settingsSchema } from './config-schema.ts';
import { channelStates, issueCodes } from './status.ts';

export const channelListQuery = z.object({
  ...pageParameters,
  type: oneOf(channelTypes)
    .optional()
    .meta({ description: 'Only channels of this type.', examples: ['email'] }),
});

const status = component('ChannelStatus', 'The current status of a channel.', {
  state: choice(
    channelStates,
    '`live`: the channel is running. `observing`: an email inbox that is not live yet; mail is mirrored into ' +
      'tickets, nothing is sent, and the AI does not run. `paused`: paused in the dashboard. ' +
      '`needs_attention`: an issue blocks the channel; see `issues`. `archived`: the channel is archived; ' +
      'lists omit it.',
  ),
  since: nullableMilliseconds.describe(
    'When the channel entered this state; null if the time was not recorded. Always null for `needs_attention`.',
  ),
  issues: z
    .array(
      object('An issue that needs attention.', {
        code: choice(issueCodes, 'The kind of issue. Branch on this field.'),
        message: z.string().describe('An explanation for people. It may change between releases.'),
      }),
    )
    .describe('The issues of the channel; empty if there are none. A paused channel can have issues, too.'),
});

const channelFields = {
  id: z.string().describe('Opaque id of the channel.'),
  object: z.literal('channel').describe('Always `channel`.'),
  type: choice(channelTypes, '`chatbot`: a chat widget. `email`: an email inbox. `form`: a form.'),
  name: z.string().describe('The name of the channel in the dashboard.'),
  status,
  agent: objectOrNull('The AI agent assigned to the channel; null if there is none.', {
    id: z.string().describe('Id of the AI agent.'),
    name: z.string().describe('Name of the AI agent.'),
    disabled: flag('True if the AI agent is disabled.'),
  }),
  createdAt: millisecondsSchema.describe('When the channel was created.'),
  updatedAt: millisecondsSchema.describe('When the channel was last updated.'),
};

/** A channel in a list. */
const channelItemSchema = component('ChannelItem', 'A channel in a list.', channelFields);
export const channelListSchema = listSchema('ChannelList', channelItemSchema);

const detail = {
  ...channelFields,
  dataRetentionDays: z
    .int()
    .min(0)
    .nullable()
    .describe(
      'The number of days after which conversations and messages of the channel are deleted; 0 or null keeps them indefinitely.',
    ),
  settings: settingsSchema,
};

/** A retrieved channel, with its settings and the configuration of its type. */
export const channelSchema = z
  .discriminatedUnion('type', [
    component('EmailChannel', 'An email inbox.', {
      ...detail,
      type: z.literal('email').describe('An email inbox.'),
      config: emailConfigSchema,
    }),
    component('ChatbotChannel', 'A chat widget.', {
      ...detail,
      type: z.literal('chatbot').describe('A chat widget.'),
      config: chatbotConfigSchema,
    }),
    component('FormChannel', 'A form.', {
      ...detail,
      type: z.literal('form').describe('A form.'),
      config: formConfigSchema,
    }),
  ])
  .meta({ id: 'Channel', description: 'A channel with its settings and the configuration of its type.' });

export type ChannelItem = z.output<typeof channelItemSchema>;
export type ChannelResponse = z.output<typeof channelSchema>;

const item = {
  id: 'chan_01K1EMAIL',
  object: 'channel',
  type: 'email',
  name: 'Support inbox',
  status: {
    state: 'needs_attention',
    since: null,
    issues: [
      { code: 'domain_not_verified', message: 'The DNS setup of the sending domain is not verified yet.' },
    ],
  },
  agent: { id: 'agent_01K1BOT', name: 'Assistant', disabled: false },
  createdAt: '2025-10-01T07:30:00.000Z',
  updatedAt: '2026-01-20T10:11:12.345Z',
} satisfies ChannelItem;

const enabled = { enabled: true };

export const channelExample: ChannelResponse = {
  ...item,
  type: 'email',
  dataRetentionDays: 365,
  settings: {
    aiSummary: enabled,
    urgency: enabled,
    insights: { enabled: false },
    topics: enabled,
    aiDisclosure: enabled,
    utmTagging: { enabled: true, source: 'support', medium: 'email', campaign: null },
    autoResolve: { enabled: true, afterHours: 72 },
  },
  config: {
    inbox: 'support@example.com',
    displayName: 'Example Support',
    replyTo: null,
    description: 'Everything about billing',
    provider: 'forwarding',
    connection: null,
    sendingDomain: { domain: 'example.com', verificationStatus: 'verifying' },
    aiMode: { mode: 'autopilot', replyDelayMinutes: 5, aiDisplayName: 'Assistant' },
    signatures: { human: 'Your Example team', ai: null, useForNewMessages: true, useForReplies: false },
    autoReply: null,
    liveAt: '2025-10-02T08:00:00.000Z',
  },
};

export const channelListExample = listEnvelope('/v1/channels', [item]);
