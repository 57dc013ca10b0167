import type { Document, Filter } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import type { Direction, KeyRange } from './key-range.ts';

/** A sort key, by which indexes order documents. */
export type SortField = 'byCreated' | 'byUpdated';

/** A query for one index range. It is plain data, so that tests can explain the same query. */
export type RangeQuery = {
  kind: Kind;
  /** Equality conditions on the index fields before the sort key. */
  within: Filter<Document>;
  field: SortField;
  direction: Direction;
  range: KeyRange;
  /** Name of the declared index that contains the documents as one range (or one range per status). */
  hint: string;
};
