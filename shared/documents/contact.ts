import { z } from 'zod';
import { tombstoneIndex, type Resource } from './document.ts';
import { name, optional, prefixedId, shortText } from './fields.ts';

/** The state of a contact: a customer who writes in. It is embedded in other documents and not served itself. */
export const contactState = z.object({
  id: prefixedId('con_'),
  name: optional(name),
  email: optional(z.object({ email: shortText, verified: z.boolean() })),
});

export type Contact = z.output<typeof contactState>;

export const contactResource: Resource<Contact> = {
  collection: 'contacts',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
};
