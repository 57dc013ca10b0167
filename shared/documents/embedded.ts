import { z } from 'zod';
import { tombstoneIndex } from './entity.ts';
import { name, optional, prefixedId, shortText } from './fields.ts';

/** An entity that other documents embed. It is not served itself, so it has no sort keys. */
const embedded = <Fields extends z.ZodRawShape>(
  topic: string,
  idPrefix: string,
  fields: Fields,
  example: { id: string } & z.input<z.ZodObject<Fields>>,
) => ({
  topic,
  idPrefix,
  state: z.object({ id: prefixedId(idPrefix), ...fields }),
  example,
  collection: topic,
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
});

/** A customer who writes in. */
export const contact = embedded(
  'contacts',
  'con_',
  { name: optional(name), email: optional(z.object({ email: shortText, verified: z.boolean() })) },
  { id: 'con_1', name: 'Ada', email: { email: 'ada@example.com', verified: true } },
);

/** A member of the support team. */
export const user = embedded(
  'users',
  'user_',
  { name: optional(name), email: shortText },
  { id: 'user_1', name: 'Sam', email: 'sam@example.com' },
);

/** An AI agent. */
export const agent = embedded(
  'agents',
  'agent_',
  { name, disabled: z.boolean() },
  { id: 'agent_1', name: 'Robin', disabled: false },
);

/** A label. */
export const tag = embedded('tags', '', { name }, { id: 'tag_1', name: 'billing' });

/** A label with a color. */
export const topic = embedded(
  'topics',
  '',
  { name, color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb')) },
  { id: 'topic_1', name: 'Billing', color: '#ff0000' },
);
