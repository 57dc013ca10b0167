import { z } from 'zod';
import { tombstoneIndex, type Resource } from './document.ts';
import { anyId, name, optional } from './fields.ts';

/** The state of a topic: a label with a color. It is embedded in other documents and not served itself. */
export const topicState = z.object({
  id: anyId,
  name,
  color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb')),
});

export type Topic = z.output<typeof topicState>;

export const topicResource: Resource<Topic> = {
  collection: 'topics',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
};
