import { z } from 'zod';
import { tombstoneIndex, type Entity } from './entity.ts';
import { name, optional, prefixedId, shortText } from './fields.ts';

/** The state of a contact: a customer who writes in. It is embedded in other documents and not served itself. */
const contactState = z.object({
  id: prefixedId('con_'),
  name: optional(name),
  email: optional(z.object({ email: shortText, verified: z.boolean() })),
});

type Contact = z.output<typeof contactState>;

export const contact = {
  topic: 'contacts',
  idPrefix: 'con_',
  state: contactState,
  example: { id: 'con_1', email: { email: 'a@example.com', verified: false } },
  collection: 'contacts',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<Contact>;
