import { z } from 'zod';
import { tombstoneIndex } from './entity.ts';
import { name, optional, prefixedId, shortText } from './fields.ts';

/** An entity that other documents embed. It is not served itself, so it has no sort keys. */
const embedded = <Fields extends z.ZodRawShape>(topic: string, idPrefix: string, fields: Fields) => ({
  topic,
  idPrefix,
  state: z.object({ id: prefixedId(idPrefix), ...fields }),
  collection: topic,
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
});

/** A customer who writes in. */
export const contact = embedded('contacts', 'con_', {
  name: optional(name),
  email: optional(z.object({ email: shortText, verified: z.boolean() })),
});

/** A member of the support team. */
export const user = embedded('users', 'user_', { name: optional(name), email: shortText });

/** An AI agent. */
export const agent = embedded('agents', 'agent_', { name, disabled: z.boolean() });

/** A label. */
export const tag = embedded('tags', '', { name });

/** A label with a color. */
export const topic = embedded('topics', '', {
  name,
  color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb')),
});
