import { z } from 'zod';
import { channelTypes } from '../../../../shared/documents/channel.ts';
import { oneOf } from '../../http/parameters.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { millisecondsSchema } from '../fields.ts';
import { chatbotConfigSchema, emailConfigSchema, formConfigSchema, settingsSchema } from './config-schema.ts';
import { channelStates, issueCodes } from './status.ts';

export const channelListQuery = z.object({
  ...pageParameters,
  type: oneOf(channelTypes)
    .optional()
    .meta({ description: 'Channels of this type only.', examples: ['email'] }),
});

const status = z
  .strictObject({
    state: z
      .enum(channelStates)
      .describe(
        '`live`: running. `observing`: an email inbox not yet live; mail is mirrored into tickets, nothing is ' +
          'sent and the AI does not run. `paused`: paused in the dashboard. `needs_attention`: something ' +
          'blocks the channel, see `issues`. `archived`: met by retrieving a channel only.',
      ),
    since: millisecondsSchema
      .nullable()
      .describe('When the channel entered the state; null when not recorded, and for `needs_attention`.'),
    issues: z
      .array(
        z
          .strictObject({
            code: z.enum(issueCodes).describe('What is wrong; branch on this.'),
            message: z.string().describe('The same for people; it may change between releases.'),
          })
          .describe('Something that needs attention.'),
      )
      .describe('Empty unless something is wrong; a paused channel can have issues too.'),
  })
  .meta({ id: 'ChannelStatus', description: 'How a channel stands at the moment.' });

const channelFields = {
  id: z.string().describe('Id of the channel; opaque.'),
  object: z.literal('channel').describe('Always `channel`.'),
  name: z.string().describe("The channel's name in the dashboard."),
  status,
  agent: z
    .strictObject({
      id: z.string().describe('Id of the agent.'),
      name: z.string().describe('Its name.'),
      disabled: z.boolean().describe('True when the agent is disabled.'),
    })
    .nullable()
    .describe('The AI agent assigned to the channel; null if there is none.'),
  createdAt: millisecondsSchema.describe('When the channel was created.'),
  updatedAt: millisecondsSchema.describe('When the channel was last updated.'),
};

/** A channel in a list. */
const channelItemSchema = z
  .strictObject({
    ...channelFields,
    type: z.enum(channelTypes).describe('Chat widget, email inbox or form.'),
  })
  .meta({ id: 'ChannelItem', description: 'A channel in a list.' });
export const channelListSchema = listSchema('ChannelList', channelItemSchema);

const detail = {
  ...channelFields,
  dataRetentionDays: z
    .int()
    .min(0)
    .nullable()
    .describe('Conversations on the channel are deleted after this many days; 0 and null keep them.'),
  settings: settingsSchema,
};

/** A retrieved channel, with its settings and the configuration of its type. */
export const channelSchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        ...detail,
        type: z.literal('email').describe('An email inbox.'),
        config: emailConfigSchema,
      })
      .meta({ id: 'EmailChannel', description: 'An email inbox.' }),
    z
      .strictObject({
        ...detail,
        type: z.literal('chatbot').describe('A chat widget.'),
        config: chatbotConfigSchema,
      })
      .meta({ id: 'ChatbotChannel', description: 'A chat widget.' }),
    z
      .strictObject({ ...detail, type: z.literal('form').describe('A form.'), config: formConfigSchema })
      .meta({ id: 'FormChannel', description: 'A form.' }),
  ])
  .meta({ id: 'Channel', description: 'A channel with its settings and the configuration of its type.' });

export type ChannelItem = z.output<typeof channelItemSchema>;
export type ChannelResponse = z.output<typeof channelSchema>;
