import { z } from 'zod';
import { tombstoneIndex, type Entity } from './entity.ts';
import { anyId, name } from './fields.ts';

/** The state of a tag: a label. It is embedded in other documents and not served itself. */
const tagState = z.object({ id: anyId, name });

type Tag = z.output<typeof tagState>;

export const tag = {
  topic: 'tags',
  idPrefix: '',
  state: tagState,
  example: { id: 'any', name: 'Billing' },
  collection: 'tags',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<Tag>;
