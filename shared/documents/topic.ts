import { z } from 'zod';
import { tombstoneIndex, type Entity } from './entity.ts';
import { anyId, name, optional } from './fields.ts';

/** The state of a topic: a label with a color. It is embedded in other documents and not served itself. */
const topicState = z.object({
  id: anyId,
  name,
  color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb')),
});

type Topic = z.output<typeof topicState>;

export const topic = {
  topic: 'topics',
  idPrefix: '',
  state: topicState,
  example: { id: 'any', name: 'Refunds', color: '#12aBcd' },
  collection: 'topics',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<Topic>;
