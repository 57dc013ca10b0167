import { z } from 'zod';
import { channelConfig, exampleConfig } from './channel-config.ts';
import { type Document, type Entity, refsIndex, tombstoneIndex } from './entity.ts';
import { anyId, exampleInstant, instant, name, optional, prefixedId, refersTo } from './fields.ts';
import { sortKey } from './instant.ts';

export const channelTypes = ['chatbot', 'email', 'form'] as const;
export type ChannelType = (typeof channelTypes)[number];

const enabled = z.object({ enabled: z.boolean() });

const channelSettings = z.object({
  aiSummary: enabled,
  urgency: enabled,
  insights: enabled,
  topics: enabled,
  aiDisclosure: enabled,
  utmTagging: enabled.extend({ source: optional(name), medium: optional(name), campaign: optional(name) }),
  autoResolve: z.object({ enabled: optional(z.boolean()), afterHours: optional(z.number()) }),
});

const shared = {
  id: anyId,
  name,
  agentId: optional(refersTo('agent', prefixedId('agent_'))),
  createdAt: instant,
  updatedAt: instant,
  archivedAt: optional(instant),
  pausedAt: optional(instant),
  resumedAt: optional(instant),
  dataRetentionDays: optional(z.int().min(0)),
  settings: channelSettings,
};

/**
 * The state of a channel. Only the configuration of the channel's own type is kept. Secrets and sync internals are
 * not part of the schema, so parsing drops them.
 */
const channelState = z.discriminatedUnion('type', [
  z
    .object({ ...shared, type: z.literal('email'), email: channelConfig.email })
    .transform(({ email, ...rest }) => ({ ...rest, config: email })),
  z
    .object({ ...shared, type: z.literal('chatbot'), chatbot: channelConfig.chatbot })
    .transform(({ chatbot, ...rest }) => ({ ...rest, config: chatbot })),
  z
    .object({ ...shared, type: z.literal('form'), form: channelConfig.form })
    .transform(({ form, ...rest }) => ({ ...rest, config: form })),
]);

export type Channel = z.output<typeof channelState>;

const exampleSettings: z.input<typeof channelSettings> = {
  aiSummary: { enabled: true },
  urgency: { enabled: true },
  insights: { enabled: true },
  topics: { enabled: true },
  aiDisclosure: { enabled: true },
  utmTagging: { enabled: false },
  autoResolve: {},
};

const example: z.input<typeof channelState> = {
  id: 'chan_1',
  type: 'email',
  name: 'Support',
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
  settings: exampleSettings,
  email: exampleConfig.email,
};

export type ChannelJoined = {
  agent: { id: string; name: string; disabled: boolean } | null;
  routesTo: { id: string; name: string } | null;
};

export type ChannelDocument = Document<Channel, ChannelJoined>;

/** An archived channel has no sort key, so lists omit it. */
export const channel = {
  topic: 'channels',
  idPrefix: '',
  state: channelState,
  example,
  collection: 'channels',
  indexes: [
    { name: 'created', key: { orgId: 1, byCreated: 1 } },
    { name: 'typeCreated', key: { orgId: 1, 'state.type': 1, byCreated: 1 } },
    refsIndex,
    tombstoneIndex,
  ],
  sortKeys: ({ id, createdAt, archivedAt }: Channel) =>
    archivedAt ? {} : { byCreated: sortKey(createdAt, id) },
} as const satisfies Entity<Channel>;
