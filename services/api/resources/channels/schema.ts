import { z } from 'zod';
import { channelTypes } from '../../../../shared/documents/channel.ts';
import { oneOf } from '../../http/query-string.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { millisecondsSchema } from '../timestamps.ts';
import { chatbotConfigSchema, emailConfigSchema, formConfigSchema, settingsSchema } from './config-schema.ts';
import { channelStates, issueCodes } from './status.ts';

export const channelListQuery = z.object({ ...pageParameters, type: oneOf(channelTypes).optional() });

const channelFields = {
  id: z.string(),
  object: z.literal('channel'),
  name: z.string(),
  status: z.strictObject({
    state: z.enum(channelStates),
    since: millisecondsSchema.nullable(),
    issues: z.array(z.strictObject({ code: z.enum(issueCodes), message: z.string() })),
  }),
  agent: z.strictObject({ id: z.string(), name: z.string(), disabled: z.boolean() }).nullable(),
  createdAt: millisecondsSchema,
  updatedAt: millisecondsSchema,
};

/** A channel in a list. */
export const channelItemSchema = z.strictObject({ ...channelFields, type: z.enum(channelTypes) });
export const channelListSchema = listSchema(channelItemSchema);

const detail = { ...channelFields, dataRetentionDays: z.int().min(0).nullable(), settings: settingsSchema };

/** A channel retrieved: with its settings, and the configuration of its type. */
export const channelSchema = z.discriminatedUnion('type', [
  z.strictObject({ ...detail, type: z.literal('email'), config: emailConfigSchema }),
  z.strictObject({ ...detail, type: z.literal('chatbot'), config: chatbotConfigSchema }),
  z.strictObject({ ...detail, type: z.literal('form'), config: formConfigSchema }),
]);

export type ChannelItem = z.output<typeof channelItemSchema>;
export type ChannelView = z.output<typeof channelSchema>;
