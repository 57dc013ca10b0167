import { z } from 'zod';
import { tombstoneIndex, type Resource } from './document.ts';
import { anyId, name } from './fields.ts';

/** The state of a tag: a label. It is embedded in other documents and not served itself. */
export const tagState = z.object({ id: anyId, name });

export type Tag = z.output<typeof tagState>;

export const tagResource: Resource<Tag> = {
  collection: 'tags',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
};
