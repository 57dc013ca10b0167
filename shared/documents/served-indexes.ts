import type { IndexName, Kind } from './resources.ts';

/**
 * The indexes that the reads of the API name in `hint`, by kind. A collection that has them is the one that the
 * projector filled, or a restored one whose data is complete: a restore builds the indexes after the data.
 */
export const servedIndexes = {
  apiKey: ['token'],
  channel: ['created', 'typeCreated'],
  ticket: ['created', 'updated', 'statusCreated', 'statusUpdated'],
  conversation: ['ticket'],
  message: ['thread'],
  qa: ['created'],
} as const satisfies { [K in Kind]?: readonly IndexName<K>[] };

/** A kind that the API reads. */
export type ServedKind = keyof typeof servedIndexes;

export const servedKinds = Object.keys(servedIndexes) as ServedKind[];

/** The name of an index that the API's reads of a kind may name. */
export type ServedIndex<K extends ServedKind> = (typeof servedIndexes)[K][number];
