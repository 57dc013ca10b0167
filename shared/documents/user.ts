import { z } from 'zod';
import { tombstoneIndex, type Entity } from './entity.ts';
import { name, optional, prefixedId, shortText } from './fields.ts';

/** The state of a user: a member of the support team. It is embedded in other documents and not served itself. */
const userState = z.object({ id: prefixedId('user_'), name: optional(name), email: shortText });

type User = z.output<typeof userState>;

export const user = {
  topic: 'users',
  idPrefix: 'user_',
  state: userState,
  example: { id: 'user_1', email: 'b@example.com' },
  collection: 'users',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<User>;
